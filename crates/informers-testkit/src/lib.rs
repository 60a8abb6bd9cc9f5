//! An embedded Kubernetes API server, scripted sources and event recorders for tests of informers and controllers
