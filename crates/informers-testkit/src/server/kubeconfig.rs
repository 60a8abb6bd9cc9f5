//! A kubeconfig that leads to the server.

/// YAML in which every value is quoted as JSON, which YAML understands.
pub(super) fn render(url: &str, token: Option<&str>) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let user = match token {
        Some(token) => format!("{{token: {}}}", quoted(token)),
        None => "{}".to_owned(),
    };
    let url = quoted(url);
    format!(
        "apiVersion: v1
kind: Config
current-context: embedded
clusters:
- name: embedded
  cluster: {{server: {url}}}
users:
- name: embedded
  user: {user}
contexts:
- name: embedded
  context: {{cluster: embedded, user: embedded, namespace: default}}
"
    )
}
