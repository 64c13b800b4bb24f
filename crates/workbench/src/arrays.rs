//! Arrays of Python as slices of Rust, checked, and the other way.

use numpy::{
    Element, IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2,
    PyUntypedArrayMethods,
};
use planner::estimate::Estimate;
use planner::task::{ExpanderScratch, Value};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::signals::Signals;
use crate::task::TaskData;

/// States of a task: one row of values, one per variable, for each.
pub(crate) struct States {
    values: Vec<Value>,
    len: usize,
    width: usize,
}

impl States {
    /// Reads states, or one state, that are assignments of the task.
    pub(crate) fn read(task: &TaskData, given: &Bound<'_, PyAny>) -> PyResult<States> {
        let width = task.task.variables.len();
        // What all functions here give out is read without a detour.
        if let Ok(states) = given.extract::<PyReadonlyArray2<'_, i32>>()
            && let Ok(values) = states.as_slice()
            && states.is_c_contiguous()
            && states.shape()[1] == width
        {
            return States::new(
                task,
                values.iter().map(|&value| i64::from(value)),
                states.shape()[0],
            );
        }
        let py = given.py();
        let numpy = py.import("numpy")?;
        let array = numpy.call_method1("asarray", (given,))?;
        let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
        if !["i", "u"].contains(&kind.as_str()) {
            return Err(PyTypeError::new_err("states are arrays of integers"));
        }
        let shape: Vec<usize> = array.getattr("shape")?.extract()?;
        let len = match shape[..] {
            [variables] if variables == width => 1,
            [len, variables] if variables == width => len,
            _ => {
                let expected = format!("one value for each of {width} variables");
                return Err(PyValueError::new_err(format!(
                    "a row of states is {expected}, and this array has the shape {shape:?}"
                )));
            }
        };
        let array = numpy.call_method1("ascontiguousarray", (array, "int64"))?;
        let array = array.call_method1("reshape", (-1,))?;
        let array: PyReadonlyArray1<'_, i64> = array.extract()?;
        States::new(task, array.as_slice()?.iter().copied(), len)
    }

    fn new(task: &TaskData, given: impl Iterator<Item = i64>, len: usize) -> PyResult<States> {
        let variables = &task.task.variables;
        let width = variables.len();
        let sizes: Vec<i64> = variables.iter().map(|v| v.domain_size() as i64).collect();
        let mut values: Vec<Value> = Vec::with_capacity(len * width);
        for (i, value) in given.enumerate() {
            let (state, var) = (i / width, i % width);
            if !(0..sizes[var]).contains(&value) {
                return Err(PyValueError::new_err(format!(
                    "state {state}: variable {var} has the values 0 to {}, not {value}",
                    sizes[var] - 1
                )));
            }
            values.push(value as Value);
        }
        let states = States { values, len, width };
        states.check_axioms(task)?;
        Ok(states)
    }

    /// Values of derived variables follow from the others.
    fn check_axioms(&self, task: &TaskData) -> PyResult<()> {
        if task.task.axioms.is_empty() {
            return Ok(());
        }
        let scratch = &mut ExpanderScratch::default();
        let mut derived = vec![0; self.width];
        for (i, state) in self.rows().enumerate() {
            derived.copy_from_slice(state);
            task.expander.derive(&mut derived, scratch);
            if let Some(var) = (0..self.width).find(|&var| derived[var] != state[var]) {
                let (given, value) = (state[var], derived[var]);
                return Err(PyValueError::new_err(format!(
                    "state {i}: by the axioms variable {var} has the value {value}, not {given}"
                )));
            }
        }
        Ok(())
    }

    /// The number of states.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// A state.
    pub(crate) fn row(&self, i: usize) -> &[Value] {
        &self.values[i * self.width..][..self.width]
    }

    /// The states.
    pub(crate) fn rows(&self) -> impl ExactSizeIterator<Item = &[Value]> {
        (0..self.len).map(|i| self.row(i))
    }
}

/// So many numbers are copied at once where rows are read.
const COPIED_AT_ONCE: usize = 1 << 15;

/// Numbers, one row for all states or one for each.
pub(crate) struct Rows<'py> {
    values: PyReadonlyArray1<'py, f64>,
    width: usize,
    is_one: bool,
}

impl<'py> Rows<'py> {
    /// Reads an array of `width` columns, of one dimension or with one row for each of `len` states.
    pub(crate) fn read(
        given: &Bound<'py, PyAny>,
        what: &str,
        len: usize,
        width: usize,
    ) -> PyResult<Rows<'py>> {
        let numpy = given.py().import("numpy")?;
        let array = numpy.call_method1("ascontiguousarray", (given, "float64"))?;
        let shape: Vec<usize> = array.getattr("shape")?.extract()?;
        let is_one = shape == [width];
        if !is_one && shape != [len, width] {
            return Err(PyValueError::new_err(format!(
                "{what} have the shape ({width},) or ({len}, {width}), and this array has {shape:?}"
            )));
        }
        let array = array.call_method1("reshape", (-1,))?;
        Ok(Rows { values: array.extract()?, width, is_one })
    }

    /// Whether there is one row for all states.
    pub(crate) fn is_one(&self) -> bool {
        self.is_one
    }

    /// The only row, or the first.
    pub(crate) fn first(&self) -> PyResult<&[f64]> {
        Ok(&self.values.as_slice()?[..self.width])
    }

    /// Runs something without Python's lock for each of so many rows, in order: it gets the number and a
    /// copy of the row, which Python may change meanwhile.
    pub(crate) fn for_each(
        &self,
        py: Python<'_>,
        len: usize,
        mut run: impl FnMut(usize, &[f64]) -> PyResult<()> + Send,
    ) -> PyResult<()> {
        // PERF: a few rows at a time stay in the cache; a copy of all took as long as the rest.
        let at_once = (COPIED_AT_ONCE / self.width.max(1)).max(1);
        let mut copies = Vec::new();
        for first in (0..len).step_by(at_once) {
            let rows = at_once.min(len - first);
            copies.clear();
            match self.is_one {
                true => copies.extend_from_slice(self.first()?),
                false => {
                    let values = &self.values.as_slice()?[first * self.width..];
                    copies.extend_from_slice(&values[..rows * self.width]);
                }
            }
            let row = |i: usize| {
                let start = if self.is_one { 0 } else { i * self.width };
                start..start + self.width
            };
            let ranges: Vec<_> = (0..rows).map(row).collect();
            let (copies, run) = (&copies, &mut run);
            py.detach(move || {
                let signals = Signals::new();
                for (i, range) in ranges.into_iter().enumerate() {
                    signals.check()?;
                    run(first + i, &copies[range])?;
                }
                PyResult::Ok(())
            })?;
            py.check_signals()?;
        }
        Ok(())
    }
}

/// Reads integers of one dimension that are indices below `end`.
pub(crate) fn indices(given: &Bound<'_, PyAny>, what: &str, end: usize) -> PyResult<Vec<usize>> {
    let numpy = given.py().import("numpy")?;
    let array = numpy.call_method1("asarray", (given,))?;
    let is_empty = array.getattr("size")?.extract::<usize>()? == 0;
    let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
    if !is_empty && !["i", "u"].contains(&kind.as_str()) {
        return Err(PyTypeError::new_err(format!("{what} are integers")));
    }
    let array = numpy.call_method1("ascontiguousarray", (array, "int64"))?;
    let array: PyReadonlyArray1<'_, i64> = array.extract()?;
    let index = |&i: &i64| match usize::try_from(i) {
        Ok(index) if index < end => Ok(index),
        _ => Err(PyValueError::new_err(format!(
            "{what} are numbers from 0 to {}, not {i}",
            end as i64 - 1
        ))),
    };
    array.as_slice()?.iter().map(index).collect()
}

/// Values of variables as an array of so many rows.
pub(crate) fn state_array<'py>(
    py: Python<'py>,
    values: Vec<Value>,
    len: usize,
    width: usize,
) -> PyResult<Bound<'py, PyArray2<i32>>> {
    matrix(py, values.into_iter().map(|value| value as i32).collect(), len, width)
}

/// A matrix from its rows, one after the other.
pub(crate) fn matrix<'py, T: Element>(
    py: Python<'py>,
    values: Vec<T>,
    rows: usize,
    columns: usize,
) -> PyResult<Bound<'py, PyArray2<T>>> {
    values.into_pyarray(py).reshape([rows, columns])
}

/// A vector.
pub(crate) fn vector<T: Element>(py: Python<'_>, values: Vec<T>) -> Py<PyArray1<T>> {
    values.into_pyarray(py).unbind()
}

/// An estimate as a number; infinite for dead ends.
pub(crate) fn number(estimate: Estimate) -> f64 {
    match estimate {
        Estimate::AtLeast(h) => h as f64,
        Estimate::DeadEnd => f64::INFINITY,
    }
}
