//! The queue of h^max, with Fast Downward's order among entries of equal cost.
//!
//! Which of several supporters an action gets depends on that order, and with it LM-cut's value.
//! There is a bucket per cost, last in first out, until a cost is at least [`FEW`] and exceeds the
//! number of entries so far; from then on until the queue is cleared, it is a binary heap that
//! compares nothing but costs and moves entries as the C++ library does.
//! (There, a heap stays a heap from one state to the next; here, a value depends on its state only.)

/// Costs below this have buckets in any case.
const FEW: u32 = 100;

/// Facts by cost.
#[derive(Debug, Default)]
pub(super) struct Queue {
    buckets: Vec<Vec<u32>>,
    /// No bucket below this holds anything.
    first: usize,
    /// The entries in buckets or heap.
    len: usize,
    /// How many entries there were so far, and such as are only counted.
    pushes: usize,
    is_heap: bool,
    /// Cost in the upper half, fact in the lower.
    heap: Vec<u64>,
}

impl Queue {
    /// Begins anew with buckets.
    pub(super) fn clear(&mut self) {
        debug_assert_eq!(self.len, 0);
        self.first = 0;
        self.pushes = 0;
        self.is_heap = false;
    }

    /// Counts entries that there are not, so that the queue does not become a heap too soon.
    pub(super) fn count(&mut self, pushes: usize) {
        self.pushes += pushes;
    }

    #[inline(always)]
    pub(super) fn push(&mut self, cost: u32, fact: u32) {
        if !self.is_heap && cost >= FEW && cost as usize > self.pushes {
            self.become_heap();
        }
        self.len += 1;
        if self.is_heap {
            self.push_heap(u64::from(cost) << 32 | u64::from(fact));
            return;
        }
        self.pushes += 1;
        let cost = cost as usize;
        if cost >= self.buckets.len() {
            self.buckets.resize_with(cost + 1, Vec::new);
        }
        self.first = self.first.min(cost);
        self.buckets[cost].push(fact);
    }

    /// The next fact and its cost.
    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<(u32, u32)> {
        if self.len == 0 {
            return None;
        }
        self.len -= 1;
        if self.is_heap {
            let entry = self.pop_heap();
            return Some(((entry >> 32) as u32, entry as u32));
        }
        loop {
            if let Some(fact) = self.buckets[self.first].pop() {
                return Some((self.first as u32, fact));
            }
            self.first += 1;
        }
    }

    #[cold]
    fn become_heap(&mut self) {
        self.heap.clear();
        // What is sorted is a heap.
        for (cost, bucket) in self.buckets.iter_mut().enumerate().skip(self.first) {
            self.heap.extend(bucket.drain(..).map(|fact| (cost as u64) << 32 | u64::from(fact)));
        }
        debug_assert_eq!(self.heap.len(), self.len);
        self.is_heap = true;
    }

    fn push_heap(&mut self, entry: u64) {
        self.heap.push(entry);
        self.rise(self.heap.len() - 1, entry);
    }

    /// Moves a hole up from `at` as far as parents cost more, and puts an entry there.
    #[inline(always)]
    fn rise(&mut self, mut at: usize, entry: u64) {
        while at > 0 {
            let parent = (at - 1) / 2;
            if self.heap[parent] >> 32 <= entry >> 32 {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = entry;
    }

    /// Takes the first entry; the hole goes down to a leaf along cheaper children, the right one if
    /// both cost the same, and the last entry rises from there.
    fn pop_heap(&mut self) -> u64 {
        let top = self.heap[0];
        let last = self.heap.pop().expect("there is an entry");
        let len = self.heap.len();
        if len > 0 {
            let mut hole = 0;
            while 2 * hole + 2 < len {
                let right = 2 * hole + 2;
                let prefer_left = self.heap[right] >> 32 > self.heap[right - 1] >> 32;
                let child = right - usize::from(prefer_left);
                self.heap[hole] = self.heap[child];
                hole = child;
            }
            if 2 * hole + 2 == len {
                self.heap[hole] = self.heap[len - 1];
                hole = len - 1;
            }
            self.rise(hole, last);
        }
        top
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drained(queue: &mut Queue) -> Vec<(u32, u32)> {
        std::iter::from_fn(|| queue.pop()).collect()
    }

    #[test]
    fn buckets_are_last_in_first_out() {
        let mut queue = Queue::default();
        for (cost, fact) in [(1, 0), (0, 1), (1, 2), (99, 3), (0, 4)] {
            queue.push(cost, fact);
        }
        assert_eq!(drained(&mut queue), [(0, 4), (0, 1), (1, 2), (1, 0), (99, 3)]);
        assert!(!queue.is_heap);
    }

    #[test]
    fn a_heap_gives_out_all_entries_by_cost_whenever_it_became_one() {
        let mut queue = Queue::default();
        let mut next = 1u32;
        for round in 0..50 {
            queue.clear();
            let mut pushed: Vec<(u32, u32)> = Vec::new();
            for fact in 0..200 {
                next = next.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let cost = (next >> 16) % (round * 10 + 1);
                queue.push(cost, fact);
                pushed.push((cost, fact));
            }
            assert!(if round < 10 { !queue.is_heap } else { round < 20 || queue.is_heap });
            let popped = drained(&mut queue);
            assert!(popped.is_sorted_by_key(|entry| entry.0));
            let mut all = popped;
            all.sort_unstable();
            pushed.sort_unstable();
            assert_eq!(all, pushed);
        }
    }
}
