//! Strongly connected components (Tarjan 1972), without recursion.

/// The strongly connected components of a graph, in topological order.
pub(super) fn strongly_connected_components(successors: &[Vec<usize>]) -> Vec<Vec<usize>> {
    const NEW: usize = usize::MAX;
    let count = successors.len();
    let (mut index, mut low) = (vec![NEW; count], vec![0; count]);
    let mut on_stack = vec![false; count];
    let (mut stack, mut components, mut next) = (Vec::new(), Vec::new(), 0);
    for start in 0..count {
        if index[start] != NEW {
            continue;
        }
        let mut calls: Vec<(usize, usize)> = vec![(start, 0)];
        while let Some(&mut (node, ref mut child)) = calls.last_mut() {
            if *child == 0 {
                (index[node], low[node]) = (next, next);
                next += 1;
                stack.push(node);
                on_stack[node] = true;
            }
            if let Some(&target) = successors[node].get(*child) {
                *child += 1;
                if index[target] == NEW {
                    calls.push((target, 0));
                } else if on_stack[target] {
                    low[node] = low[node].min(index[target]);
                }
                continue;
            }
            calls.pop();
            if let Some(&(parent, _)) = calls.last() {
                low[parent] = low[parent].min(low[node]);
            }
            if low[node] == index[node] {
                let at = stack.iter().rposition(|&v| v == node).expect("on the stack");
                let component: Vec<usize> = stack.split_off(at);
                component.iter().for_each(|&v| on_stack[v] = false);
                components.push(component);
            }
        }
    }
    components.reverse();
    components
}
