//! Finding programs.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The file that is run for a command: one with a separator in it is meant as it stands, another is searched in
/// `$PATH`. Folders of `$PATH` that are not absolute are passed over, as in Go: they would make it depend on the
/// working folder what is run.
pub(super) fn look_up(command: &Path, path: Option<&OsStr>) -> Option<PathBuf> {
    let has_separator = command.components().nth(1).is_some() || command.is_absolute();
    if has_separator {
        return runnable(command);
    }
    let folders = std::env::split_paths(path?).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(command)).find_map(|file| runnable(&file))
}

#[cfg(unix)]
fn runnable(file: &Path) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    let found = std::fs::metadata(file).ok()?;
    (found.is_file() && found.permissions().mode() & 0o111 != 0).then(|| file.to_owned())
}

#[cfg(not(unix))]
fn runnable(file: &Path) -> Option<PathBuf> {
    let extensions = std::env::var("PATHEXT").unwrap_or_else(|_| ".COM;.EXE;.BAT;.CMD".to_owned());
    let with = |extension: &str| {
        let mut name = file.as_os_str().to_owned();
        name.push(extension);
        PathBuf::from(name)
    };
    let candidates = std::iter::once(file.to_owned()).chain(extensions.split(';').map(with));
    candidates.filter(|file| file.extension().is_some()).find(|file| file.is_file())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_name_is_searched_and_a_path_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let (plain, good) = (folder.path().join("plain"), folder.path().join("good"));
        for (at, mode) in [(&plain, 0o644), (&good, 0o755)] {
            std::fs::create_dir(at).unwrap();
            std::fs::write(at.join("plugin"), "").unwrap();
            std::fs::set_permissions(at.join("plugin"), std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let path = std::env::join_paths([Path::new("relative"), &plain, &good]).unwrap();
        let found = |command: &Path| look_up(command, Some(&path));
        assert_eq!(found(Path::new("plugin")), Some(good.join("plugin")));
        assert_eq!(found(&good.join("plugin")), Some(good.join("plugin")));
        assert_eq!(found(&plain.join("plugin")), None, "it may not be run");
        assert_eq!(found(&good), None, "a folder is no program");
        assert_eq!(found(Path::new("good/plugin")), None);
        assert_eq!(found(Path::new("other")), None);
        assert_eq!(look_up(Path::new("plugin"), None), None);
    }
}
