//! What is shown: a live table on a terminal, a line for each event elsewhere.

mod table;

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::time::Instant;

use anyhow::{Context, Result};

pub(crate) use table::Screen;
use table::Table;

use crate::tally::Tally;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    subject: &'static str,
    what: &'static str,
    key: String,
    detail: String,
}

impl Row {
    pub(crate) fn new(subject: &'static str, what: &'static str, key: &str, detail: String) -> Self {
        Self { subject, what, key: key.to_owned(), detail }
    }

    fn line(&self, start: Instant) -> String {
        let Self { subject, what, key, detail } = self;
        let seconds = start.elapsed().as_secs_f64();
        let line = match key.is_empty() {
            true => format!("{seconds:8.3}  {subject:<11}  {what:<8}  {detail}"),
            false => format!("{seconds:8.3}  {subject:<11}  {what:<8}  {key:<24}  {detail}"),
        };
        line.trim_end().to_owned()
    }

    /// The same for a terminal of 80 columns.
    fn short_line(&self, start: Instant) -> String {
        let Self { subject, what, key, detail } = self;
        let seconds = start.elapsed().as_secs();
        let space = if key.is_empty() { "" } else { " " };
        format!("{seconds:4} {subject:<11} {what:<8} {key}{space}{detail}")
    }
}

/// Standard output in one of its two forms.
#[derive(Debug)]
pub(crate) struct View {
    start: Instant,
    table: Option<Table>,
    closed: bool,
    last: Option<Row>,
}

impl View {
    pub(crate) fn new(plain: bool, title: &str) -> Result<Self> {
        let table = (!plain && io::stdout().is_terminal()).then(|| Table::new(title));
        let mut view = Self { start: Instant::now(), table, closed: false, last: None };
        match &view.table {
            Some(table) => view.print(table.opening())?,
            None => view.print(&format!("{title}\n"))?,
        }
        Ok(view)
    }

    pub(crate) fn is_table(&self) -> bool {
        self.table.is_some()
    }

    /// Whether nobody reads the output any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    pub(crate) fn show(&mut self, row: Row) -> Result<()> {
        match &mut self.table {
            Some(table) => table.push(row.short_line(self.start)),
            None => self.print(&format!("{}\n", row.line(self.start)))?,
        }
        self.last = Some(row);
        Ok(())
    }

    /// Shows a row unless nothing happened since another one of its subject.
    pub(crate) fn show_if_news(&mut self, row: Row) -> Result<()> {
        let is_news = self.last.as_ref().is_none_or(|last| last.subject != row.subject);
        if is_news { self.show(row) } else { Ok(()) }
    }

    /// Draws the table, if this is one.
    pub(crate) fn draw(&mut self, screen: &Screen<'_>) -> Result<()> {
        match &self.table {
            Some(table) => self.print(&table.drawn(screen, self.start.elapsed())),
            None => Ok(()),
        }
    }

    /// Ends the table and prints the numbers.
    pub(crate) fn summary(mut self, tally: &Tally) -> Result<()> {
        self.end_table();
        let seconds = self.start.elapsed().as_secs_f64();
        self.print(&format!("summary after {seconds:.1} s\n{}", table::numbers(tally)))
    }

    fn end_table(&mut self) {
        if let Some(table) = self.table.take() {
            // A terminal that is gone needs no restoring.
            let _ = self.print(table.closing());
        }
    }

    fn print(&mut self, text: &str) -> Result<()> {
        let mut output = io::stdout().lock();
        match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(())
            }
            written => written.context("standard output"),
        }
    }
}

/// The terminal is left as it was, also after an error.
impl Drop for View {
    fn drop(&mut self) {
        self.end_table();
    }
}
