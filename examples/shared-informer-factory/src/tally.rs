//! What was seen, in numbers.

use informers::core::Event;
use informers::prelude::SharedInformer;

use crate::event_row::Describe;
use crate::watched::Watched;

/// The numbers of one resource.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    pub(crate) resource: &'static str,
    pub(crate) objects: usize,
    pub(crate) added: u64,
    pub(crate) updated: u64,
    pub(crate) deleted: u64,
    /// Lists that were read whole.
    pub(crate) lists: u64,
    /// How many parts the resource is read in: one, or one for each namespace.
    parts: u64,
}

impl Line {
    /// Lists beyond the first of each part.
    pub(crate) fn relists(&self) -> u64 {
        self.lists.saturating_sub(self.parts)
    }
}

/// The numbers of all resources.
#[derive(Clone, Debug)]
pub(crate) struct Tally(pub(crate) [Line; 3]);

impl Tally {
    pub(crate) fn new(parts: usize) -> Self {
        let line = |resource| Line { resource, parts: parts.max(1) as u64, ..Line::default() };
        Self([line("pods"), line("deployments"), line("widgets")])
    }

    pub(crate) fn count<K: Describe>(&mut self, event: &Event<K>) {
        if let Some(line) = self.0.iter_mut().find(|line| line.resource == K::RESOURCE) {
            match event {
                Event::Added { .. } => line.added += 1,
                Event::Updated { .. } => line.updated += 1,
                Event::Deleted { .. } => line.deleted += 1,
            }
        }
    }

    /// Counts a list of an informer of this name, and gives the resource's numbers.
    pub(crate) fn listed(&mut self, informer: &str) -> Option<&Line> {
        let line = self.0.iter_mut().find(|line| informer.starts_with(line.resource))?;
        line.lists += 1;
        Some(line)
    }

    /// Takes the numbers of objects from the stores.
    pub(crate) fn look_at(&mut self, watched: &Watched) {
        let counts = [count(&watched.pods), count(&watched.deployments), count(&watched.widgets)];
        for (line, objects) in self.0.iter_mut().zip(counts) {
            line.objects = objects;
        }
    }
}

fn count<K: Send + Sync + 'static>(informer: &SharedInformer<K>) -> usize {
    informer.store().len()
}
