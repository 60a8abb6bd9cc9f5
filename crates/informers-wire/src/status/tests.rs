use super::*;

const FORBIDDEN: &str = r#"{
  "kind": "Status",
  "apiVersion": "v1",
  "metadata": {},
  "status": "Failure",
  "message": "pods is forbidden: User \"x\" cannot watch resource \"pods\"",
  "reason": "Forbidden",
  "details": {
    "kind": "pods",
    "causes": null
  },
  "code": 403
}
"#;

#[test]
fn a15_a_pretty_status_is_one_error() {
    let status = Status::from_body(403, Some("application/json"), FORBIDDEN.as_bytes());
    assert!(status.is_forbidden());
    assert_eq!(status.code, 403);
    assert_eq!(status.message, "pods is forbidden: User \"x\" cannot watch resource \"pods\"");
    assert_eq!(status.details.unwrap().kind, "pods");
}

#[test]
fn a15_the_layout_and_the_content_type_do_not_matter() {
    let line = FORBIDDEN.replace('\n', "");
    let expected = Status::from_body(403, None, FORBIDDEN.as_bytes());
    for content_type in [None, Some("application/json"), Some("text/plain; charset=utf-8")] {
        assert_eq!(Status::from_body(403, content_type, line.as_bytes()), expected);
    }
}

#[test]
fn a15_plain_text_and_html_are_wrapped() {
    let status = Status::from_body(500, Some("text/plain"), b"upstream connect error");
    assert!(status.is_internal_error());
    assert_eq!((status.code, &*status.message), (500, "upstream connect error"));

    let page = format!("<html>{}</html>", "ä".repeat(4000));
    let status = Status::from_body(502, Some("text/html"), page.as_bytes());
    assert!(status.message.starts_with("<html>ää"));
    assert!(status.message.len() <= Status::MAX_BODY_IN_MESSAGE);
    assert!(!status.message.contains('\u{FFFD}'));
}

#[test]
fn a15_a_page_of_html_makes_a_message_of_one_line() {
    let page = b"<html>\r\n<body>\n\t<h1>502  Bad\x1b[2J Gateway</h1>\n</body></html>\n";
    let status = Status::from_body(502, Some("text/html"), page);
    assert_eq!(status.message, "<html> <body> <h1>502 Bad [2J Gateway</h1> </body></html>");
}

#[test]
fn a_body_that_cannot_be_read_is_not_quoted() {
    for (content_type, body) in [
        (Some("application/vnd.kubernetes.protobuf"), &b"k8s\0\x0a"[..]),
        (Some("text/plain"), b""),
        (None, b" \n"),
    ] {
        let status = Status::from_body(404, content_type, body);
        assert!(status.is_not_found());
        assert!(status.message.contains("HTTP status 404"), "{status}");
    }
}

#[test]
fn a_success_or_another_kind_is_no_explanation() {
    for body in
        [r#"{"kind":"Status","status":"Success"}"#, r#"{"kind":"Pod","code":200}"#, "[1]", "{\"kind\":"]
    {
        let status = Status::from_body(500, Some("application/json"), body.as_bytes());
        assert_eq!((&*status.reason, &*status.message), ("InternalError", body));
    }
}

#[test]
fn a_missing_code_is_the_http_code() {
    let status = Status::from_body(429, None, br#"{"kind":"Status","message":"slow down"}"#);
    assert_eq!(status.code, 429);
    assert!(status.is_too_many_requests());
}

#[test]
fn wild_numbers_and_nulls_do_not_hide_the_rest() {
    let body = br#"{"kind":"Status","status":null,"message":"m","reason":null,"code":-7,
        "details":{"retryAfterSeconds":-1,"name":null,"causes":[{"reason":null,"message":"c"}]}}"#;
    let status = Status::from_body(500, None, body);
    assert_eq!((&*status.message, status.code), ("m", 500));
    assert_eq!(status.details.unwrap().causes[0].message, "c");
}

#[test]
fn a_known_reason_beats_the_code() {
    let status = |code, reason: &str| Status::new(code, reason, "");
    assert!(status(410, "").is_gone() && !status(410, "").is_expired());
    assert!(status(410, "Gone").is_gone() && !status(410, "Gone").is_expired());
    assert!(status(410, "Expired").is_expired() && !status(410, "Expired").is_gone());
    assert!(!status(500, "StorageReadError").is_internal_error());
    assert!(status(500, "SomethingNew").is_internal_error());
    assert!(status(0, "NotFound").is_not_found());
    assert!(!status(409, "").is_already_exists() && status(409, "").is_conflict());
    assert!(!status(409, "AlreadyExists").is_conflict());
    assert!(status(429, "Forbidden").is_too_many_requests());
    assert!(status(413, "Invalid").is_request_entity_too_large());
    assert!(!status(504, "ServerTimeout").is_timeout() && status(504, "ServerTimeout").is_server_timeout());
}

#[test]
fn a04_too_large_in_three_spellings() {
    let cause = |reason: &str, message: &str| StatusDetails {
        causes: vec![StatusCause {
            reason: reason.to_owned(),
            message: message.to_owned(),
            field: String::new(),
        }],
        ..StatusDetails::default()
    };
    let mut by_type = Status::new(504, "Timeout", "");
    by_type.details = Some(cause("ResourceVersionTooLarge", "anything"));
    let mut by_cause_text = Status::new(504, "Timeout", "");
    by_cause_text.details = Some(cause("", "Too large resource version"));
    let by_message = Status::new(504, "", "Too large resource version: 900, current: 500");
    for status in [&by_type, &by_cause_text, &by_message] {
        assert!(status.is_too_large_resource_version(), "{status:?}");
    }
    let other_code = Status::new(500, "InternalError", "Too large resource version: 900, current: 500");
    assert!(!other_code.is_too_large_resource_version());
    assert!(!Status::new(504, "Timeout", "took too long").is_too_large_resource_version());
}

#[test]
fn what_is_written_can_be_read() {
    let mut status = Status::new(429, "TooManyRequests", "busy");
    status.details = Some(StatusDetails { retry_after_seconds: 3, ..StatusDetails::default() });
    let written = serde_json::to_string(&status).unwrap();
    assert!(written.starts_with(r#"{"kind":"Status","apiVersion":"v1","metadata":{}"#), "{written}");
    assert_eq!(Status::from_json(written.as_bytes()), Some(status));
}
