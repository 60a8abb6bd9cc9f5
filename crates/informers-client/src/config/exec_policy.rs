//! Which programs a configuration may run for credentials.

use std::path::{Component, Path, PathBuf};

use crate::ClientError;

/// Which programs may be run for [`Credentials::Exec`](crate::Credentials::Exec): a kubeconfig that somebody
/// else wrote can name any.
///
/// By default all, as client-go's (its `PluginPolicy`; kubectl reads one from `kuberc`).
///
/// ```
/// use informers_client::{Config, ExecPolicy};
///
/// let policy = ExecPolicy::allowlist(["aws", "/usr/bin/gke-gcloud-auth-plugin"])?;
/// let config = Config::for_url("https://shop.example")?.with_exec_policy(policy);
/// assert!(ExecPolicy::allowlist(Vec::<String>::new()).is_err(), "that would be ExecPolicy::deny_all()");
/// # Ok::<(), informers_client::ClientError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExecPolicy(Rule);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Rule {
    #[default]
    AllowAll,
    DenyAll,
    Allowlist(Vec<String>),
}

impl ExecPolicy {
    /// Any program.
    #[must_use]
    pub fn allow_all() -> Self {
        Self(Rule::AllowAll)
    }

    /// None.
    #[must_use]
    pub fn deny_all() -> Self {
        Self(Rule::DenyAll)
    }

    /// These: paths, or names that are looked up in `$PATH`. A name allows the program that it leads to, by
    /// whatever path the configuration calls it; a path allows that file, by whatever name.
    ///
    /// # Errors
    /// If there are none, or one is empty or not in its shortest form, as `./aws` and `/usr/bin/../bin/aws` are.
    pub fn allowlist(programs: impl IntoIterator<Item = impl Into<String>>) -> Result<Self, ClientError> {
        let programs: Vec<String> = programs.into_iter().map(Into::into).collect();
        let wrong = |problem: String| Err(ClientError::configuration("allowlist of exec plugins", problem));
        if programs.is_empty() {
            return wrong("is empty; use ExecPolicy::deny_all() if no program may be run".to_owned());
        }
        for (at, program) in programs.iter().enumerate() {
            if program.is_empty() {
                return wrong(format!("entry {at} is empty"));
            }
            let clean = clean(Path::new(program));
            // As text: paths that differ by `./` are equal as paths.
            if clean.as_os_str() != program.as_str() {
                return wrong(format!("`{program}` is not in its shortest form, `{}`", clean.display()));
            }
        }
        Ok(Self(Rule::Allowlist(programs)))
    }

    /// Whether `command`, which is [clean] and which `look_up` finds at `found`, may be run; else why not.
    pub(crate) fn check(
        &self,
        command: &Path,
        found: Option<&Path>,
        look_up: impl Fn(&Path) -> Option<PathBuf>,
    ) -> Result<(), String> {
        let programs = match &self.0 {
            Rule::AllowAll => return Ok(()),
            Rule::DenyAll => return Err("is not allowed: no exec plugin is (ExecPolicy)".to_owned()),
            Rule::Allowlist(programs) => programs,
        };
        let verbatim = |program: &String| {
            let program = Path::new(program);
            program == command || found == Some(program)
        };
        if programs.iter().any(verbatim) {
            return Ok(());
        }
        let Some(found) = found else {
            return Err("is not found, so it cannot be compared with the allowlist (ExecPolicy)".to_owned());
        };
        let same = |program: &String| {
            let program = Path::new(program);
            program.file_name() == found.file_name() && look_up(program).as_deref() == Some(found)
        };
        if programs.iter().any(same) {
            return Ok(());
        }
        Err(format!("is {}, which is not in the allowlist (ExecPolicy)", found.display()))
    }
}

/// The path without `.`, doubled separators, and `..` where it takes back a part, as Go's `filepath.Clean`.
pub(crate) fn clean(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => match clean.components().next_back() {
                Some(Component::Normal(_)) => {
                    clean.pop();
                }
                Some(Component::RootDir) => {}
                _ => clean.push(".."),
            },
            other => clean.push(other),
        }
    }
    if clean.as_os_str().is_empty() { PathBuf::from(".") } else { clean }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_compared_by_what_it_leads_to() {
        let look_up = |program: &Path| match program.to_str().unwrap() {
            "aws" | "/usr/bin/aws" => Some(PathBuf::from("/usr/bin/aws")),
            "/tmp/aws" => Some(PathBuf::from("/tmp/aws")),
            _ => None,
        };
        let check = |list: &[&str], command: &str| {
            let policy = ExecPolicy::allowlist(list.iter().copied()).unwrap();
            let command = clean(Path::new(command));
            policy.check(&command, look_up(&command).as_deref(), look_up)
        };
        for (list, command) in [
            (&["aws"][..], "aws"),
            (&["/usr/bin/aws"], "aws"),
            (&["aws"], "/usr/bin/aws"),
            (&["other", "aws"], "/usr/bin/./aws"),
            (&["/usr/bin/aws"], "/usr/lib/../bin/aws"),
            (&["gone"], "gone"),
        ] {
            assert_eq!(check(list, command), Ok(()), "{list:?} {command}");
        }
        for (list, command, why) in [
            (&["aws"][..], "/tmp/aws", "is /tmp/aws, which is not in the allowlist (ExecPolicy)"),
            (&["/tmp/aws"], "aws", "is /usr/bin/aws, which is not in the allowlist (ExecPolicy)"),
            (&["aws"], "gone", "is not found, so it cannot be compared with the allowlist (ExecPolicy)"),
            (&["bin/aws"], "aws", "is /usr/bin/aws, which is not in the allowlist (ExecPolicy)"),
        ] {
            assert_eq!(check(list, command), Err(why.to_owned()), "{list:?} {command}");
        }
        assert_eq!(ExecPolicy::default().check(Path::new("any"), None, look_up), Ok(()));
        assert!(ExecPolicy::deny_all().check(Path::new("aws"), None, look_up).is_err());
    }

    #[test]
    fn an_allowlist_with_a_mistake_in_it_is_refused() {
        for (list, problem) in [
            (&[][..], "is empty; use ExecPolicy::deny_all() if no program may be run"),
            (&["aws", ""], "entry 1 is empty"),
            (&["./aws"], "`./aws` is not in its shortest form, `aws`"),
            (&["/usr//bin/aws"], "`/usr//bin/aws` is not in its shortest form, `/usr/bin/aws`"),
            (&["/a/../b/"], "`/a/../b/` is not in its shortest form, `/b`"),
        ] {
            let error = ExecPolicy::allowlist(list.iter().copied()).unwrap_err();
            assert_eq!(error.to_string(), format!("allowlist of exec plugins: {problem}"));
        }
        for (path, expected) in [("../../a", "../../a"), ("/..", "/"), ("a/..", "."), ("a/../../b", "../b")] {
            assert_eq!(clean(Path::new(path)).as_os_str(), expected);
        }
    }
}
