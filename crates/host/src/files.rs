//! Which domain file belongs to a problem file, by the names in use at planning competitions.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The names under which a problem's domain file is looked for beside it, as Fast Downward does.
pub fn domain_file_names(problem: &Path) -> Vec<String> {
    let name = problem.file_name().unwrap_or_default().to_string_lossy();
    let (stem, extension) = name.rsplit_once('.').unwrap_or((&name, ""));
    let dot = if extension.is_empty() { "" } else { "." };
    let mut names = vec![
        "domain.pddl".to_owned(),
        format!("{stem}-domain{dot}{extension}"),
        // Folders such as airport, where p01-airport1-p1.pddl belongs to p01-domain.pddl.
        format!("{}-domain.pddl", name.chars().take(3).collect::<String>()),
        format!("domain_{name}"),
        format!("domain-{name}"),
    ];
    let mut seen = HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names
}

/// The domain file of a problem, by the names in use at the planning competitions.
pub fn find_domain_file(problem: &Path) -> Option<PathBuf> {
    let candidates = domain_file_names(problem).into_iter();
    candidates.map(|name| problem.with_file_name(name)).find(|path| path.is_file())
}

/// Whether a file of this name is a domain, not a problem.
pub fn is_domain_file(name: &str) -> bool {
    name.starts_with("domain") || name.ends_with("-domain.pddl")
}
