//! Megabytes a second of each stage on one core: `cargo bench -p informers-wire`.
//!
//! Best of several rounds over a list of pods of about 7 KB each, in chunks of 16 KiB as hyper reads them.
//! Without `--bench`, as under `cargo test --benches`, it only checks that the stages work.
#![allow(clippy::print_stdout, clippy::expect_used)] // a benchmark prints, and may fail loudly

use std::fmt::Write as _;
use std::hint::black_box;
use std::io::Write as _;
use std::time::{Duration, Instant};

use bytes::Bytes;
use informers_wire::{ContentDecoder, ListSplitter, WatchFrame, WatchFramer, peek_identity, protobuf};

const CHUNK: usize = 16 << 10;

fn main() {
    let measure = std::env::args().any(|argument| argument == "--bench");
    let (count, rounds) = if measure { (10_000, 9) } else { (20, 1) };
    let report = |stage: &str, bytes: usize, run: &mut dyn FnMut()| report(stage, bytes, rounds, run);
    let pods: Vec<String> = (0..count).map(pod).collect();
    let list = format!(
        r#"{{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"1"}},"items":[{}]}}"#,
        pods.join(",")
    );
    let watch: String = pods.iter().fold(String::new(), |mut all, pod| {
        let _ = writeln!(all, r#"{{"type":"MODIFIED","object":{pod}}}"#);
        all
    });
    println!("{count} pods, {} bytes each, chunks of {CHUNK}", pods[0].len());

    let list = Bytes::from(list);
    report("list splitter", list.len(), &mut || {
        let mut splitter = ListSplitter::new();
        let mut items = 0;
        for chunk in chunks(&list) {
            splitter.push(chunk);
            while let Some(item) = splitter.next_item().expect("a good list") {
                items += usize::from(!black_box(item).is_empty());
            }
        }
        splitter.finish().expect("a whole list");
        assert_eq!(items, count);
    });

    let watch = Bytes::from(watch);
    report("watch framer", watch.len(), &mut || {
        let mut framer = WatchFramer::new();
        let mut frames = 0;
        for chunk in chunks(&watch) {
            framer.push(chunk);
            while let Some(event) = framer.next_event().expect("good frames") {
                frames += usize::from(matches!(black_box(event), WatchFrame::Modified(_)));
            }
        }
        assert_eq!(frames, count);
    });

    report("peek identity (of whole objects)", pods.iter().map(String::len).sum(), &mut || {
        for pod in &pods {
            assert!(black_box(peek_identity(pod.as_bytes())).uid.is_some());
        }
    });

    let message = protobuf_pod();
    let items: Vec<u8> = (0..count).flat_map(|_| bytes_field(2, &message)).collect();
    let list_message = Bytes::from(enveloped("PodList", &items));
    report("list splitter, protobuf", list_message.len(), &mut || {
        let mut splitter = protobuf::ListSplitter::new();
        let mut items = 0;
        for chunk in chunks(&list_message) {
            splitter.push(chunk);
            while let Some(item) = splitter.next_item().expect("a good list") {
                items += usize::from(!black_box(item).is_empty());
            }
        }
        splitter.finish().expect("a whole list");
        assert_eq!(items, count);
    });

    let event = [bytes_field(1, b"MODIFIED"), bytes_field(2, &bytes_field(1, &enveloped("Pod", &message)))];
    let event = event.concat();
    let frame = [&u32::try_from(event.len()).expect("a small event").to_be_bytes()[..], &event].concat();
    let frames = Bytes::from(frame.repeat(count));
    report("watch framer, protobuf", frames.len(), &mut || {
        let mut framer = protobuf::WatchFramer::new();
        let mut seen = 0;
        for chunk in chunks(&frames) {
            framer.push(chunk);
            while let Some(event) = framer.next_event().expect("good frames") {
                seen += usize::from(matches!(black_box(event), WatchFrame::Modified(_)));
            }
        }
        assert_eq!(seen, count);
    });

    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&list).expect("memory");
    let compressed = Bytes::from(encoder.finish().expect("memory"));
    report("gzip (of its content)", list.len(), &mut || {
        let mut decoder = ContentDecoder::from_header(Some("gzip")).expect("gzip is known");
        let mut length = 0;
        for chunk in chunks(&compressed) {
            decoder.push(chunk);
            while let Some(content) = decoder.next_chunk().expect("good data") {
                length += black_box(content).len();
            }
        }
        assert_eq!(length, list.len());
    });
}

/// A field of a message with these bytes.
fn bytes_field(number: u8, value: &[u8]) -> Vec<u8> {
    let mut field = vec![number << 3 | 2];
    let mut length = value.len();
    while length > 0x7F {
        field.push((length & 0x7F) as u8 | 0x80);
        length >>= 7;
    }
    field.push(length as u8);
    field.extend_from_slice(value);
    field
}

fn enveloped(kind: &str, raw: &[u8]) -> Vec<u8> {
    let type_meta = [bytes_field(1, b"v1"), bytes_field(2, kind.as_bytes())].concat();
    [b"k8s\0".to_vec(), bytes_field(1, &type_meta), bytes_field(2, raw)].concat()
}

/// A pod of the size that one has in protobuf; what is in it is of no account to those who only cut.
fn protobuf_pod() -> Vec<u8> {
    let metadata = [bytes_field(1, b"web-0"), bytes_field(3, b"team"), bytes_field(6, b"1000000")].concat();
    [bytes_field(1, &metadata), bytes_field(2, &[b'x'; 3800])].concat()
}

fn chunks(body: &Bytes) -> impl Iterator<Item = Bytes> {
    (0..body.len()).step_by(CHUNK).map(|start| body.slice(start..body.len().min(start + CHUNK)))
}

fn report(stage: &str, bytes: usize, rounds: usize, run: &mut dyn FnMut()) {
    let mut best = Duration::MAX;
    for _ in 0..rounds {
        let start = Instant::now();
        run();
        best = best.min(start.elapsed());
    }
    println!("{stage:35} {:6.0} MB/s", bytes as f64 / best.as_secs_f64() / 1e6);
}

/// A pod as a server writes it: metadata with managed fields, a spec of two containers, a status.
fn pod(number: usize) -> String {
    let mut env = String::new();
    for variable in 0..12 {
        let _ = write!(
            env,
            r#"{{"name":"SETTING_{variable}","valueFrom":{{"configMapKeyRef":{{"name":"settings-{variable}","key":"value","optional":true}}}}}},"#
        );
    }
    env.push_str(r#"{"name":"LAST","value":"1"}"#);
    let container = |name: &str| {
        format!(
            r#"{{"name":"{name}","image":"registry.example.com/team/{name}:v1.{number}","command":["/bin/{name}","--listen=:8080","--verbosity=2"],"ports":[{{"name":"http","containerPort":8080,"protocol":"TCP"}}],"env":[{env}],"resources":{{"limits":{{"cpu":"500m","memory":"256Mi"}},"requests":{{"cpu":"100m","memory":"128Mi"}}}},"volumeMounts":[{{"name":"data","mountPath":"/var/data"}},{{"name":"kube-api-access-x{number}","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}}],"livenessProbe":{{"httpGet":{{"path":"/healthz","port":8080,"scheme":"HTTP"}},"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3}},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent"}}"#
        )
    };
    let mut managed = String::new();
    for field in 0..8 {
        let _ = write!(
            managed,
            r#""k:{{\"containerPort\":{field},\"protocol\":\"TCP\"}}":{{".":{{}},"f:name":{{}}}},"#
        );
    }
    managed.push_str(r#""f:restartPolicy":{}"#);
    let mut conditions = String::new();
    for condition in ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady"] {
        let _ = write!(
            conditions,
            r#"{{"type":"{condition}","observedGeneration":1,"status":"True","lastProbeTime":null,"lastTransitionTime":"2026-05-04T03:02:01Z"}},"#
        );
    }
    conditions.push_str(
        r#"{"type":"PodScheduled","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-05-04T03:02:00Z"}"#,
    );
    format!(
        r#"{{"metadata":{{"name":"web-{number}","generateName":"web-","namespace":"team-{}","uid":"7b1e8f0a-5c7d-4a39-9e0b-{number:012}","resourceVersion":"{}","creationTimestamp":"2026-05-04T03:02:00Z","labels":{{"app":"web","pod-template-hash":"6d4cf56db6","tier":"frontend"}},"annotations":{{"example.com/config-hash":"b5bb9d8014a0f9b1d61e21e796d78dccdf1352f23cd32812f4850b878ae4944c"}},"ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-6d4cf56db6","uid":"0d0c4f3e-1111-2222-3333-444455556666","controller":true,"blockOwnerDeletion":true}}],"managedFields":[{{"manager":"kube-controller-manager","operation":"Update","apiVersion":"v1","time":"2026-05-04T03:02:00Z","fieldsType":"FieldsV1","fieldsV1":{{"f:spec":{{{managed}}}}}}}]}},"spec":{{"volumes":[{{"name":"data","emptyDir":{{}}}},{{"name":"kube-api-access-x{number}","projected":{{"sources":[{{"serviceAccountToken":{{"expirationSeconds":3607,"path":"token"}}}},{{"configMap":{{"name":"kube-root-ca.crt","items":[{{"key":"ca.crt","path":"ca.crt"}}]}}}}],"defaultMode":420}}}}],"containers":[{},{}],"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"default","nodeName":"node-{}","securityContext":{{}},"schedulerName":"default-scheduler","tolerations":[{{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}}],"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority"}},"status":{{"phase":"Running","conditions":[{conditions}],"hostIP":"10.0.0.{}","podIP":"10.1.2.3","podIPs":[{{"ip":"10.1.2.3"}}],"startTime":"2026-05-04T03:02:00Z","qosClass":"Burstable"}}}}"#,
        number % 50,
        1_000_000 + number,
        container("server"),
        container("sidecar"),
        number % 500,
        number % 250,
    )
}
