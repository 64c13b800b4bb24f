//! Action-centric Weisfeiler-Leman features, as arrays.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use lcp::graph::GraphKind;
use lcp::predict::{MEMORY_LIMIT, patterns_of};
use lcp::wl::{self, FeatureGenerator, FeatureMatrix, VocabularyBuilder};
use numpy::{PyArray1, PyArray2};
use planner::abstraction::Abstractions;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

use crate::arrays::{States, matrix, vector};
use crate::components::Components;
use crate::partitioning::Shared;
use crate::signals::Signals;
use crate::task::read_file;

/// The colours that features count, with numbers that depend on nothing but the set of colours.
///
/// >>> task = Task(DOMAIN, PROBLEM)
/// >>> components = Components(task)
/// >>> vocabulary = Vocabulary.learn([(components, task.random_walks(20))])
/// >>> vocabulary
/// <vocabulary of 246 features: flg, 2 iterations>
#[pyclass(frozen, eq, module = "apportion_workbench")]
pub(crate) struct Vocabulary {
    pub(crate) vocabulary: Arc<wl::Vocabulary>,
}

impl PartialEq for Vocabulary {
    fn eq(&self, other: &Vocabulary) -> bool {
        self.to_json() == other.to_json()
    }
}

#[pymethods]
impl Vocabulary {
    /// The vocabulary of tasks and their states: a list of pairs of ``Components``, all of them patterns,
    /// and an array of states.
    #[staticmethod]
    #[pyo3(signature = (examples, kind="flg", iterations=2, distances=false))]
    fn learn(
        examples: &Bound<'_, PyAny>,
        kind: &str,
        iterations: usize,
        distances: bool,
    ) -> PyResult<Vocabulary> {
        let kind: GraphKind = kind.parse().map_err(PyValueError::new_err)?;
        let mut read = Vec::new();
        for example in examples.try_iter()? {
            let (components, states): (Bound<'_, Components>, Bound<'_, PyAny>) =
                example?.extract()?;
            let shared = components.get().shared.clone();
            check_patterns(&shared.abstractions)?;
            let states = States::read(&shared.data, &states)?;
            read.push((shared, states));
        }
        let vocabulary = examples.py().detach(|| {
            let signals = Signals::new();
            let mut builder = VocabularyBuilder::new(kind, iterations).distances(distances);
            for (Shared { data, abstractions }, states) in &read {
                signals.check()?;
                let rows: Vec<_> = states.rows().collect();
                builder.observe(&data.task, &patterns_of(abstractions), &rows);
            }
            PyResult::Ok(builder.finish())
        })?;
        Ok(Vocabulary { vocabulary: Arc::new(vocabulary) })
    }

    /// Reads a file that ``save`` wrote.
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Vocabulary> {
        let text = read_file(&path)?;
        let wrong = |error| PyValueError::new_err(format!("{}: {error}", path.display()));
        let vocabulary = serde_json::from_slice(&text).map_err(wrong)?;
        Ok(Vocabulary { vocabulary: Arc::new(vocabulary) })
    }

    /// Writes the vocabulary as JSON, as it stands in model files.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        std::fs::write(&path, self.to_json()).map_err(|error| {
            PyOSError::new_err(format!("cannot write {}: {error}", path.display()))
        })
    }

    /// The text that ``save`` writes.
    fn to_json(&self) -> String {
        serde_json::to_string(&*self.vocabulary).expect("numbers and names")
    }

    /// The graph that features are those of.
    #[getter]
    fn kind(&self) -> &'static str {
        self.vocabulary.kind().name()
    }

    /// The number of iterations.
    #[getter]
    fn iterations(&self) -> usize {
        self.vocabulary.iterations()
    }

    /// The number of features.
    #[getter]
    fn num_features(&self) -> usize {
        self.vocabulary.num_features()
    }

    /// The features spelt out; their length grows exponentially with the iterations.
    fn feature_names(&self) -> Vec<String> {
        self.vocabulary.feature_names()
    }

    fn __repr__(&self) -> String {
        let (kind, iterations) = (self.kind(), self.iterations());
        format!("<vocabulary of {} features: {kind}, {iterations} iterations>", self.num_features())
    }
}

/// Features and models are for projections.
pub(crate) fn check_patterns(abstractions: &Abstractions) -> PyResult<()> {
    if abstractions.components().iter().all(|component| component.pattern().is_some()) {
        return Ok(());
    }
    Err(PyValueError::new_err("features are those of patterns, and other components have none"))
}

/// The features of states: different rows as a sparse matrix, and which row belongs where.
///
/// Row ``r`` has ``counts[offsets[r]:offsets[r + 1]]`` at the columns
/// ``features[offsets[r]:offsets[r + 1]]``.
#[pyclass(frozen, get_all, module = "apportion_workbench")]
pub(crate) struct FeatureRows {
    /// The row of each pair in each state, or with ``all`` that of each operator for each component.
    rows: Py<PyArray2<i32>>,
    /// Where the rows of the matrix begin, and where the last one ends.
    offsets: Py<PyArray1<i64>>,
    /// The columns of the numbers in the matrix, ascending in each row.
    features: Py<PyArray1<i32>>,
    /// The numbers: how often a colour occurs, or what a distance is.
    counts: Py<PyArray1<i32>>,
}

/// Computes features of states of a task; keeps what it has computed.
///
/// >>> task = Task(DOMAIN, PROBLEM)
/// >>> components = Components(task)
/// >>> states = task.random_walks(20)
/// >>> vocabulary = Vocabulary.learn([(components, states)])
/// >>> found = Features(components, vocabulary).of(states)
/// >>> found.rows.shape
/// (20, 60)
#[pyclass(frozen, module = "apportion_workbench")]
pub(crate) struct Features {
    shared: Shared,
    generator: Mutex<FeatureGenerator>,
}

#[pymethods]
impl Features {
    #[new]
    fn new(
        py: Python<'_>,
        components: &Bound<'_, Components>,
        vocabulary: &Bound<'_, Vocabulary>,
    ) -> PyResult<Features> {
        let shared = components.get().shared.clone();
        check_patterns(&shared.abstractions)?;
        let vocabulary = Arc::clone(&vocabulary.get().vocabulary);
        let Shared { data, abstractions } = &shared;
        let generator =
            py.detach(|| FeatureGenerator::new(&data.task, abstractions, vocabulary, MEMORY_LIMIT));
        Ok(Features { generator: Mutex::new(generator), shared })
    }

    /// The features of each pair in each state; with ``all`` those of each operator for each component, one
    /// component after the other, whether the operator changes its abstract states or not.
    #[pyo3(signature = (states, all=false))]
    fn of(&self, py: Python<'_>, states: &Bound<'_, PyAny>, all: bool) -> PyResult<FeatureRows> {
        let states = States::read(&self.shared.data, states)?;
        let abstractions = &self.shared.abstractions;
        let columns = match all {
            true => abstractions.len() * abstractions.num_operators(),
            false => abstractions.num_pairs(),
        };
        let found = py.detach(|| {
            let mut generator = self.generator.lock().unwrap_or_else(PoisonError::into_inner);
            let signals = Signals::new();
            let mut found = FeatureMatrix::default();
            for state in states.rows() {
                signals.check()?;
                found.add(abstractions, &mut generator, state, all);
            }
            PyResult::Ok(found)
        })?;
        let counts =
            |of: fn(&(u32, u32)) -> u32| found.items.iter().map(|i| of(i) as i32).collect();
        Ok(FeatureRows {
            features: vector(py, counts(|&(feature, _)| feature)),
            counts: vector(py, counts(|&(_, count)| count)),
            offsets: vector(py, found.offsets),
            rows: matrix(py, found.rows, states.len(), columns)?.unbind(),
        })
    }
}
