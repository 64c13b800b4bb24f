//! The maximum over a fixed set of cost partitionings.

use std::sync::Arc;

use super::justify::Written;
use super::tables::TableStore;
use super::{Estimate, Heuristic, HeuristicStatistics};
use crate::abstraction::Abstractions;
use crate::certificate::{BoundId, Certificate};
use crate::partition::{CostPartitioning, PartitionScratch};
use crate::task::Value;

/// Evaluates states by the distance tables of partitionings made beforehand.
///
/// Admissible and consistent.
#[derive(Clone, Debug)]
pub struct Maximum {
    abstractions: Arc<Abstractions>,
    store: TableStore,
    written: Written,
}

impl Maximum {
    /// The maximum over these partitionings of the collection.
    pub fn new(abstractions: Arc<Abstractions>, partitionings: &[CostPartitioning]) -> Maximum {
        let scale = partitionings.iter().map(CostPartitioning::scale).max().unwrap_or(1);
        let mut store = TableStore::new(abstractions.clone(), scale);
        let mut scratch = PartitionScratch::default();
        for partitioning in partitionings {
            store.push(&partitioning.goal_distances(&mut scratch));
        }
        Maximum { abstractions, store, written: Written::default() }
    }
}

impl Heuristic for Maximum {
    fn evaluate(&mut self, state: &[Value]) -> Estimate {
        if self.abstractions.is_dead_end(state) {
            return Estimate::DeadEnd;
        }
        Estimate::AtLeast(self.store.best(state).h)
    }

    fn justify(
        &mut self,
        state: &[Value],
        least: Estimate,
        certificate: &mut Certificate<'_>,
    ) -> Option<BoundId> {
        let Maximum { abstractions, store, written } = self;
        written.justify(abstractions, store, state, least, certificate)
    }

    fn statistics(&self) -> HeuristicStatistics {
        HeuristicStatistics {
            patterns: self.abstractions.len(),
            partitions: self.store.len(),
            partitions_computed: self.store.len(),
            transition_bytes: self.abstractions.memory_bytes(),
            table_bytes: self.store.memory_bytes(),
            ..HeuristicStatistics::default()
        }
    }
}
