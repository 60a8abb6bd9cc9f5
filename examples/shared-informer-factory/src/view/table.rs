//! The live table.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;
use std::iter;
use std::sync::Arc;
use std::time::Duration;

use crate::tally::Tally;

/// How many lines each part of the table has, so that it fits a terminal of 24 lines.
const NODES: usize = 5;
const APPS: usize = 3;
const EVENTS: usize = 7;

/// The alternate screen, without cursor and without line wrapping; and back.
const OPENING: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const CLOSING: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";
const HOME: &str = "\x1b[H";
const CLEAR_LINE: &str = "\x1b[K\r\n";
const CLEAR_BELOW: &str = "\x1b[J";

/// What the table shows at one moment.
pub(crate) struct Screen<'a> {
    pub(crate) tally: &'a Tally,
    pub(crate) nodes: BTreeMap<String, Vec<String>>,
    pub(crate) apps: BTreeMap<Arc<str>, String>,
}

/// The parts that stay from one drawing to the next.
#[derive(Debug)]
pub(super) struct Table {
    title: String,
    events: VecDeque<String>,
}

impl Table {
    pub(super) fn new(title: &str) -> Self {
        Self { title: title.to_owned(), events: VecDeque::new() }
    }

    pub(super) fn push(&mut self, line: String) {
        if self.events.len() == EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(line);
    }

    pub(super) fn opening(&self) -> &'static str {
        OPENING
    }

    pub(super) fn closing(&self) -> &'static str {
        CLOSING
    }

    /// Everything, to be written over what was drawn before.
    pub(super) fn drawn(&self, screen: &Screen<'_>, elapsed: Duration) -> String {
        let mut lines = vec![format!("Ctrl-C ends  {} s  {}", elapsed.as_secs(), self.title)];
        let states = screen.tally.0.iter().map(|line| line.state.as_str());
        let columns = numbers(screen.tally);
        let rows = columns.lines().zip(iter::once("state").chain(states));
        lines.extend(rows.map(|(numbers, state)| format!("{numbers}  {state}")));
        let nodes = screen
            .nodes
            .iter()
            .map(|(node, pods)| format!("{node:<16} {:>4}  {}", pods.len(), pods.join(" ")));
        part(&mut lines, "pods by node (index)", nodes, NODES);
        let apps = screen.apps.iter().map(|(app, finding)| format!("{app:<16} {finding}"));
        part(&mut lines, "apps (controller)", apps, APPS);
        lines.push("last events".to_owned());
        lines.extend(self.events.iter().cloned());
        let mut text = HOME.to_owned();
        for line in lines {
            // Names of a cluster are letters, digits and dashes; whatever else may come must not steer the terminal.
            text.extend(line.chars().filter(|char| !char.is_control()));
            text.push_str(CLEAR_LINE);
        }
        text + CLEAR_BELOW
    }
}

/// A heading and at most `limit` lines.
fn part(
    lines: &mut Vec<String>,
    heading: &str,
    content: impl ExactSizeIterator<Item = String>,
    limit: usize,
) {
    let more = content.len().saturating_sub(limit);
    lines.push(match more {
        0 => heading.to_owned(),
        more => format!("{heading}, and {more} more"),
    });
    lines.extend(content.take(limit));
}

/// The numbers of each resource.
pub(super) fn numbers(tally: &Tally) -> String {
    let mut text = format!(
        "{:<11} {:>7} {:>7} {:>7} {:>7} {:>6} {:>7}\n",
        "", "objects", "added", "updated", "deleted", "lists", "relists"
    );
    for line in &tally.0 {
        // Writing into a string cannot fail.
        let _ = writeln!(
            text,
            "{:<11} {:>7} {:>7} {:>7} {:>7} {:>6} {:>7}",
            line.resource,
            line.objects,
            line.added,
            line.updated,
            line.deleted,
            line.lists,
            line.relists()
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_table_fits_into_24_lines_and_steers_no_terminal() {
        let mut table = Table::new("title \x1b[31m");
        for number in 0..50 {
            table.push(format!("event {number}"));
        }
        let many = |name: &str| (0..30).map(|number| format!("{name}-{number:02}")).collect::<Vec<_>>();
        let nodes = many("node").into_iter().map(|node| (node, many("pod"))).collect();
        let apps = many("app").into_iter().map(|app| (app.into(), "2 pods".to_owned())).collect();
        let screen = Screen { tally: &Tally::new(1), nodes, apps };
        let text = table.drawn(&screen, Duration::from_secs(7));
        assert_eq!(text.matches(CLEAR_LINE).count(), 23);
        assert!(text.contains("Ctrl-C ends  7 s  title [31m"), "{text:?}");
        assert!(text.contains("pods by node (index), and 25 more"));
        assert!(text.contains("event 49") && text.contains("event 43") && !text.contains("event 42"));
    }
}
