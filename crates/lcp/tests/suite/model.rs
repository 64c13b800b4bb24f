//! Model files: what is written is read again bit by bit, and everything else is refused by name.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use lcp::graph::GraphKind;
use lcp::model::{Model, ModelError, Provenance, Signature};
use lcp::network::{NetworkConfig, Weights};
use lcp::wl::VocabularyBuilder;
use planner::abstraction::Pattern;
use planner::task::{Task, VarId};
use planner::translate::sas;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};

/// A lamp with a switch in SAS, with the given names of its predicate and its schema.
fn lamp(predicate: &str, schema: &str) -> Task {
    let text = format!(
        "begin_version\n3\nend_version\nbegin_metric\n0\nend_metric\n1\nbegin_variable\nvar0\n-1\n2\n\
         Atom {predicate}(a)\nNegatedAtom {predicate}(a)\nend_variable\n0\nbegin_state\n1\n\
         end_state\nbegin_goal\n1\n0 0\nend_goal\n1\nbegin_operator\n{schema} a\n0\n1\n0 0 1 0\n1\n\
         end_operator\n0\n"
    );
    sas::read(&text).expect("the text is a task")
}

fn model() -> Model {
    let task = lamp("lit", "switch-on");
    let mut builder = VocabularyBuilder::new(GraphKind::Flg, 2);
    builder.observe(&task, &[Pattern::new([VarId(0)])], &[[0], [1]]);
    let vocabulary = builder.finish();
    let config = NetworkConfig::compact(vocabulary.num_features(), 4);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
    Model {
        signature: Signature::of_task(&task),
        weights: Weights::random(&config, &mut rng),
        vocabulary: Arc::new(vocabulary),
        provenance: Provenance {
            domain: "lamp".into(),
            loss: "bound".into(),
            ..Default::default()
        },
        validation: BTreeMap::from([("bound".to_string(), 0.1 + 0.2)]),
    }
}

#[test]
fn saving_and_loading_is_bit_identical() {
    let model = model();
    let folder = tempfile::tempdir().expect("a folder for the file");
    let path = folder.path().join("lamp.model");
    model.save(&path).expect("the model is written");
    let loaded = Model::load(&path).expect("the model is read");
    assert_eq!(loaded.weights, model.weights);
    assert_eq!(loaded.signature, model.signature);
    assert_eq!(loaded.provenance, model.provenance);
    assert_eq!(loaded.validation, model.validation);
    assert_eq!(loaded.to_bytes().unwrap(), std::fs::read(&path).unwrap());
}

#[test]
fn rounded_weights_take_half_the_space_and_are_read_as_they_were_written() {
    let exact = model();
    let mut rounded = exact.clone();
    rounded.weights.round();
    let numbers = exact.weights.data.len();
    let (long, short) = (exact.to_bytes().unwrap(), rounded.to_bytes().unwrap());
    assert!(long.len() - short.len() > numbers, "{} and {} bytes", long.len(), short.len());
    assert_eq!(Model::from_bytes(&short).expect("the model is read").weights, rounded.weights);
    for (x, y) in exact.weights.data.iter().zip(&rounded.weights.data) {
        assert!((x - y).abs() <= x.abs() / 256.0, "{x} becomes {y}");
    }
}

#[test]
fn a_file_that_is_no_model_is_refused() {
    let bytes = model().to_bytes().unwrap();
    for length in 0..bytes.len() {
        let error = Model::from_bytes(&bytes[..length]).expect_err("truncated");
        assert!(matches!(error, ModelError::Damaged(_)), "{length} bytes: {error}");
    }
    assert!(matches!(Model::from_bytes(b"(define (domain x))"), Err(ModelError::Damaged(_))));
    assert!(matches!(Model::load("/nonexistent/file".as_ref()), Err(ModelError::Io { .. })));
    let foreign = safetensors::serialize(Vec::<(String, TensorView)>::new(), None).unwrap();
    assert!(matches!(Model::from_bytes(&foreign), Err(ModelError::Foreign)));
}

/// A tensor as it stands in a file: type, shape and bytes.
type RawTensor = (Dtype, Vec<usize>, Vec<u8>);

/// The model's file after a change of its metadata and tensors.
fn changed(
    change: impl Fn(&mut HashMap<String, String>, &mut BTreeMap<String, RawTensor>),
) -> Result<Model, ModelError> {
    let bytes = model().to_bytes().unwrap();
    let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
    let mut metadata = header.metadata().clone().unwrap();
    let mut tensors: BTreeMap<String, RawTensor> = SafeTensors::deserialize(&bytes)
        .unwrap()
        .tensors()
        .into_iter()
        .map(|(name, view)| (name, (view.dtype(), view.shape().to_vec(), view.data().to_vec())))
        .collect();
    change(&mut metadata, &mut tensors);
    let views = tensors.iter().map(|(name, (dtype, shape, data))| {
        (name.clone(), TensorView::new(*dtype, shape.clone(), data).unwrap())
    });
    Model::from_bytes(&safetensors::serialize(views, Some(metadata)).unwrap())
}

#[test]
fn every_defect_has_its_name() {
    assert!(changed(|_, _| {}).is_ok());
    let error = changed(|metadata, _| {
        metadata.insert("version".into(), "2".into());
    });
    assert!(matches!(error, Err(ModelError::Version { found }) if found == "2"));
    for field in ["network", "vocabulary", "signature", "provenance", "validation"] {
        let error = changed(|metadata, _| {
            metadata.remove(field);
        });
        assert!(matches!(error, Err(ModelError::MissingMetadata(f)) if f == field));
        let error = changed(|metadata, _| {
            metadata.insert(field.into(), "[1, 2".into());
        });
        assert!(matches!(error, Err(ModelError::Metadata { field: f, .. }) if f == field));
    }
    let error = changed(|_, tensors| {
        tensors.remove("mlp.0.weight");
    });
    assert!(matches!(error, Err(ModelError::MissingTensor(name)) if name == "mlp.0.weight"));
    let error = changed(|_, tensors| {
        tensors.insert("extra".into(), (Dtype::F32, vec![1], vec![0; 4]));
    });
    assert!(matches!(error, Err(ModelError::UnexpectedTensor(name)) if name == "extra"));
    let error = changed(|_, tensors| {
        tensors.insert("score.bias".into(), (Dtype::F32, vec![2], vec![0; 8]));
    });
    assert!(matches!(error, Err(ModelError::Shape { name, .. }) if name == "score.bias"));
    let error = changed(|_, tensors| {
        tensors.insert("score.bias".into(), (Dtype::I32, vec![1], vec![0; 4]));
    });
    assert!(matches!(error, Err(ModelError::Type { name, .. }) if name == "score.bias"));
    for broken in [f32::NAN, f32::INFINITY] {
        let error = changed(|_, tensors| {
            let bytes = broken.to_le_bytes().to_vec();
            tensors.insert("score.bias".into(), (Dtype::F32, vec![1], bytes));
        });
        assert!(matches!(error, Err(ModelError::NotFinite(name)) if name == "score.bias"));
    }
    for (from, to) in [("\"heads\":1", "\"heads\":3"), ("\"layers\":1", "\"layers\":0")] {
        let error = changed(|metadata, _| {
            let network = metadata["network"].replace(from, to);
            metadata.insert("network".into(), network);
        });
        assert!(matches!(error, Err(ModelError::Config(_))));
    }
    let error = changed(|metadata, _| {
        let config = NetworkConfig::compact(999, 4);
        metadata.insert("network".into(), serde_json::to_string(&config).unwrap());
    });
    assert!(matches!(error, Err(ModelError::Features { network: 999, .. })));
}

#[test]
fn a_model_of_another_domain_is_refused() {
    let model = model();
    assert!(model.check_task(&lamp("lit", "switch-on")).is_ok());
    for task in [lamp("dark", "switch-on"), lamp("lit", "switch-off")] {
        let error = model.check_task(&task).expect_err("another domain");
        assert!(matches!(error, ModelError::WrongDomain { .. }));
        assert!(error.to_string().contains("is unknown to it"));
    }
}
