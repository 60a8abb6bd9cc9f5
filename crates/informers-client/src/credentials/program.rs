//! Running a program, with what it says kept even if it does not end.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use futures_util::future::join3;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;

/// A program that has ended.
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
}

pub(super) enum Failure {
    /// It could not be started or followed.
    Io(io::Error),
    /// It did not end in time, and had said this until then.
    TooSlow { stderr: Vec<u8> },
}

/// Runs it, at most so long. It is killed if it takes longer, and if the future is dropped.
pub(super) async fn run(mut command: Command, limit: Option<Duration>) -> Result<Ended, Failure> {
    let mut child = command.kill_on_drop(true).spawn().map_err(Failure::Io)?;
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let running = join3(read(out, &mut stdout), read(err, &mut stderr), child.wait());
    let ended = match limit {
        None => Some(running.await),
        Some(limit) => tokio::time::timeout(limit, running).await.ok(),
    };
    match ended {
        None => Err(Failure::TooSlow { stderr }),
        Some((Ok(()), Ok(()), Ok(status))) => Ok(Ended { status, stdout, stderr }),
        Some((Err(error), _, _) | (_, Err(error), _) | (_, _, Err(error))) => Err(Failure::Io(error)),
    }
}

async fn read(from: Option<impl AsyncRead + Unpin>, to: &mut Vec<u8>) -> io::Result<()> {
    match from {
        Some(mut from) => from.read_to_end(to).await.map(drop),
        None => Ok(()),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::process::Stdio;

    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    #[tokio::test]
    async fn what_a_program_said_is_kept_though_it_hangs() {
        // However slow this machine is, some limit lets it come to its word.
        for limit in (0..12).map(|power| Duration::from_millis(20 << power)) {
            match run(shell("echo open https://login.test >&2; exec sleep 600"), Some(limit)).await {
                Err(Failure::TooSlow { stderr }) if stderr.is_empty() => {}
                Err(Failure::TooSlow { stderr }) => return assert_eq!(stderr, b"open https://login.test\n"),
                _ => panic!("it ended"),
            }
        }
        panic!("it said nothing");
    }

    #[tokio::test]
    async fn more_than_a_pipe_holds_is_read_from_both_ends() {
        let script = "head -c 300000 /dev/zero >&2; head -c 300000 /dev/zero; exit 3";
        let Ok(ended) = run(shell(script), None).await else { panic!("it failed") };
        assert_eq!(
            (ended.stdout.len(), ended.stderr.len(), ended.status.code()),
            (300_000, 300_000, Some(3))
        );
    }
}
