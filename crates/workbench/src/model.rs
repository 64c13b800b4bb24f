//! Model files: networks of the program's layout.

use std::path::PathBuf;
use std::sync::Arc;

use lcp::model::{self, Provenance, Signature, shipped_model};
use lcp::network::{NetworkConfig, Weights};
use lcp::predict::{MEMORY_LIMIT, Predictor, Softmax};
use numpy::{PyArray2, PyReadonlyArray1};
use planner::partition::PartitionScratch;
use planner::task::Value;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{States, matrix, vector};
use crate::components::Components;
use crate::features::{Vocabulary, check_patterns};
use crate::partitioning::{Partitionings, Shared, Split};
use crate::signals::Signals;
use crate::task::{Task, read_file};

/// A network of the program's layout with its vocabulary: a model file.
///
/// >>> task = Task(DOMAIN, PROBLEM)
/// >>> vocabulary = Vocabulary.learn([(Components(task), task.random_walks(20))])
/// >>> model = Model.random(vocabulary, [task], width=8)
/// >>> sorted(model.tensors())[:3]
/// ['blocks.0.abstraction.k', 'blocks.0.abstraction.norm.bias', 'blocks.0.abstraction.norm.gain']
/// >>> model.shares(Components(task), task.random_walks(2)).shape
/// (2, 60)
#[pyclass(frozen, module = "apportion_workbench")]
pub(crate) struct Model {
    model: model::Model,
}

#[pymethods]
impl Model {
    /// Reads a model file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Model> {
        let bytes = py.detach(|| read_file(&path))?;
        let wrong = |error| PyValueError::new_err(format!("{}: {error}", path.display()));
        Ok(Model { model: model::Model::from_bytes(&bytes).map_err(wrong)? })
    }

    /// The shipped model for the domain of a task, if there is one.
    #[staticmethod]
    fn shipped(task: &Bound<'_, Task>) -> Option<Model> {
        shipped_model(&task.get().data.task).map(|model| Model { model })
    }

    /// A network with random weights, for the domain of these tasks: where training begins, or a place for
    /// tensors from elsewhere.
    ///
    /// Without a width it is the paper's, with one it has an input projection and only pairs are tokens.
    /// ``attention`` is ``"learned"`` or ``"mean"``; ``mlp_ratio`` is the hidden width of the last layers as a
    /// part of the width.
    #[staticmethod]
    #[pyo3(signature = (
        vocabulary, tasks, *, domain="", width=None, layers=1, heads=1, attention="learned", mlp_ratio=0.4,
        seed=1
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn random(
        vocabulary: &Bound<'_, Vocabulary>,
        tasks: Vec<Bound<'_, Task>>,
        domain: &str,
        width: Option<usize>,
        layers: usize,
        heads: usize,
        attention: &str,
        mlp_ratio: f64,
        seed: u64,
    ) -> PyResult<Model> {
        let vocabulary = Arc::clone(&vocabulary.get().vocabulary);
        let usual = NetworkConfig::paper(vocabulary.num_features());
        let tokens = match width {
            Some(width) => NetworkConfig::compact(usual.input, width).tokens,
            None => usual.tokens,
        };
        let attention = serde_json::from_value(attention.into());
        let attention = attention.map_err(|error| PyValueError::new_err(error.to_string()))?;
        let config = NetworkConfig { width, layers, heads, attention, mlp_ratio, tokens, ..usual };
        config.check().map_err(|error| PyValueError::new_err(error.to_string()))?;
        let mut signature = Signature::default();
        tasks.iter().for_each(|task| signature.extend(&task.get().data.task));
        let mut rng = <rand_xoshiro::Xoshiro256PlusPlus as rand::SeedableRng>::seed_from_u64(seed);
        let weights = Weights::random(&config, &mut rng);
        let provenance = Provenance { domain: domain.to_string(), seed, ..Provenance::default() };
        let validation = Default::default();
        Ok(Model { model: model::Model { signature, vocabulary, weights, provenance, validation } })
    }

    /// The same network with other numbers: an array for each of ``tensors``.
    fn with_tensors(&self, tensors: &Bound<'_, PyDict>) -> PyResult<Model> {
        let mut model = self.model.clone();
        let named = model.weights.layout.named.clone();
        let wrong = |text: String| Err(PyValueError::new_err(text));
        for name in tensors.keys() {
            let name: String = name.extract()?;
            if !named.iter().any(|(known, ..)| *known == name) {
                return wrong(format!("the network has no tensor `{name}`"));
            }
        }
        let numpy = tensors.py().import("numpy")?;
        for (name, shape, tensor) in &named {
            let Some(array) = tensors.get_item(name)? else {
                return wrong(format!("the tensor `{name}` is missing"));
            };
            let array = numpy.call_method1("ascontiguousarray", (array, "float32"))?;
            let given: Vec<usize> = array.getattr("shape")?.extract()?;
            if given != *shape {
                return wrong(format!(
                    "the tensor `{name}` has the shape {shape:?}, not {given:?}"
                ));
            }
            let array = array.call_method1("reshape", (-1,))?;
            let array: PyReadonlyArray1<'_, f32> = array.extract()?;
            let array = array.as_slice()?;
            if array.iter().any(|x| !x.is_finite()) {
                return wrong(format!("the tensor `{name}` has a number that is not finite"));
            }
            model.weights[*tensor].copy_from_slice(array);
        }
        Ok(Model { model })
    }

    /// The numbers of the network by name.
    fn tensors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let tensors = PyDict::new(py);
        for (name, shape, tensor) in &self.model.weights.layout.named {
            let array = vector(py, self.model.weights[*tensor].to_vec());
            tensors.set_item(name, array.call_method1(py, "reshape", (shape.clone(),))?)?;
        }
        Ok(tensors)
    }

    /// Writes the model file: what ``apportion plan --heuristic lcp --model`` reads.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        let bytes = self.model.to_bytes();
        let bytes = bytes.map_err(|error| PyValueError::new_err(error.to_string()))?;
        std::fs::write(&path, bytes).map_err(|error| {
            PyOSError::new_err(format!("cannot write {}: {error}", path.display()))
        })
    }

    /// The features that it reads.
    #[getter]
    fn vocabulary(&self) -> Vocabulary {
        Vocabulary { vocabulary: Arc::clone(&self.model.vocabulary) }
    }

    /// The domain's name.
    #[getter]
    fn domain(&self) -> &str {
        &self.model.provenance.domain
    }

    /// The predicted partitioning of each state, as the program makes it.
    ///
    /// ``as_published`` lets all patterns compete for an operator's cost, as the paper does: what a pattern
    /// cannot use is lost.
    #[pyo3(signature = (components, states, as_published=false))]
    fn partition(
        &self,
        components: &Bound<'_, Components>,
        states: &Bound<'_, PyAny>,
        as_published: bool,
    ) -> PyResult<Partitionings> {
        let shared = components.get().shared.clone();
        let states = self.read(&shared, states)?;
        let splits = components.py().detach(|| {
            let (signals, scratch) = (Signals::new(), &mut PartitionScratch::default());
            let mut predictor = self.predictor(&shared, as_published);
            let split = |state: &[Value]| {
                signals.check()?;
                Ok(Split::new(predictor.predict(state), state, f64::NAN, scratch))
            };
            states.rows().map(split).collect::<PyResult<_>>()
        })?;
        Ok(Partitionings { shared, splits })
    }

    /// The predicted shares of each state.
    #[pyo3(signature = (components, states, as_published=false))]
    fn shares<'py>(
        &self,
        components: &Bound<'py, Components>,
        states: &Bound<'_, PyAny>,
        as_published: bool,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let py = components.py();
        let shared = &components.get().shared;
        let states = self.read(shared, states)?;
        let pairs = shared.abstractions.num_pairs();
        let shares = py.detach(|| {
            let signals = Signals::new();
            let mut predictor = self.predictor(shared, as_published);
            let mut shares = Vec::with_capacity(states.len() * pairs);
            for state in states.rows() {
                signals.check()?;
                shares.extend_from_slice(predictor.shares(state));
            }
            PyResult::Ok(shares)
        });
        matrix(py, shares?, states.len(), pairs)
    }

    fn __repr__(&self) -> String {
        let (size, domain) = (self.model.weights.layout.size, &self.model.provenance.domain);
        format!("<model of `{domain}` with {size} parameters>")
    }
}

impl Model {
    /// Reads states of a task that the model is for.
    fn read(&self, shared: &Shared, states: &Bound<'_, PyAny>) -> PyResult<States> {
        check_patterns(&shared.abstractions)?;
        let fits = self.model.check_task(&shared.data.task);
        fits.map_err(|error| PyValueError::new_err(error.to_string()))?;
        States::read(&shared.data, states)
    }

    fn predictor(&self, shared: &Shared, as_published: bool) -> Predictor {
        let Shared { data, abstractions } = shared;
        let softmax = if as_published { Softmax::Paper } else { Softmax::Masked };
        Predictor::new(&data.task, abstractions, &self.model, softmax, MEMORY_LIMIT)
    }
}
