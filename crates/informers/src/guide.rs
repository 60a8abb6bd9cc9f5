//! The guide: how the parts work together, and what to do when they do not.
