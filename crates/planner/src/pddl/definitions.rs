//! What a file of PDDL defines, by the titles of its definitions alone.

use super::error::PddlError;
use super::sexpr::{self, Node};
use super::source::Source;

/// The names in the titles of a file's definitions, in lower case.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Definitions {
    /// The first domain that the file defines.
    pub domain: Option<String>,
    /// The first problem that the file defines.
    pub problem: Option<String>,
    /// The domain that this problem names in its section `:domain`.
    pub domain_of_problem: Option<String>,
}

/// Reads the titles of the definitions in `source`; what stands in them is not checked.
///
/// Fails only where parentheses do not match, or nest too deeply.
pub fn definitions(source: &Source) -> Result<Definitions, PddlError> {
    let lower = source.text().to_ascii_lowercase();
    let mut found = Definitions::default();
    for node in &sexpr::read(source, &lower)? {
        let Some([define, title, sections @ ..]) = node.list() else { continue };
        let (Some("define"), Some((kind, name))) = (define.word(), pair(title)) else { continue };
        match kind {
            "domain" if found.domain.is_none() => found.domain = Some(name.to_string()),
            "problem" if found.problem.is_none() => {
                found.problem = Some(name.to_string());
                let mut named = sections.iter().filter_map(pair);
                let domain = named.find(|&(head, _)| head == ":domain");
                found.domain_of_problem = domain.map(|(_, name)| name.to_string());
            }
            _ => {}
        }
    }
    Ok(found)
}

/// The two words of a list that has no more.
fn pair<'t>(node: &Node<'t>) -> Option<(&'t str, &'t str)> {
    match node.list()? {
        [head, name] => Some((head.word()?, name.word()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Definitions, PddlError> {
        definitions(&Source::new("text", text.as_bytes()))
    }

    fn found(domain: Option<&str>, problem: Option<&str>, of: Option<&str>) -> Definitions {
        let owned = |name: Option<&str>| name.map(str::to_string);
        Definitions { domain: owned(domain), problem: owned(problem), domain_of_problem: owned(of) }
    }

    #[test]
    fn titles_are_found_whatever_stands_between_them() {
        let domain = "; a comment\n(define (DOMAIN Workshop) (:action broken";
        assert!(read(domain).is_err());
        let domain = "(define (DOMAIN Workshop) (:action broken))";
        assert_eq!(read(domain).unwrap(), found(Some("workshop"), None, None));
        let problem = "(define (problem p) (:domain workshop) (:init) (:goal))";
        assert_eq!(read(problem).unwrap(), found(None, Some("p"), Some("workshop")));
        let both = format!("{problem} word () (define) (define (problem q)) {domain}");
        assert_eq!(read(&both).unwrap(), found(Some("workshop"), Some("p"), Some("workshop")));
        assert_eq!(read("(define (problem p))").unwrap(), found(None, Some("p"), None));
        assert_eq!(read("").unwrap(), Definitions::default());
    }
}
