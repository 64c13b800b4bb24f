//! Sets of tuples of objects with hash indexes, the tables of the Datalog engine.
//!
//! Rows are numbered in the order of insertion and never removed.
//! A row is *visible* to joins only once it is published; this gives semi-naive evaluation its
//! notion of old facts. Indexes hold visible rows only.

use hashbrown::HashTable;
use rustc_hash::FxHashMap;

use crate::task::ObjectId;

/// Marks the end of a chain of rows.
const END: u32 = u32::MAX;

/// A set of objects of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ObjectSet {
    words: Vec<u64>,
    len: usize,
}

impl ObjectSet {
    pub(crate) fn new(members: impl Iterator<Item = bool>) -> ObjectSet {
        let (mut words, mut len) = (Vec::new(), 0);
        for (i, member) in members.enumerate() {
            if i % 64 == 0 {
                words.push(0);
            }
            words[i / 64] |= u64::from(member) << (i % 64);
            len += usize::from(member);
        }
        ObjectSet { words, len }
    }

    #[inline]
    pub(crate) fn contains(&self, object: ObjectId) -> bool {
        self.words[object.index() / 64] >> (object.index() % 64) & 1 == 1
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = ObjectId> + '_ {
        (0..self.words.len() * 64).map(ObjectId::from).filter(|&o| self.contains(o))
    }
}

/// A growing set of tuples of one length.
#[derive(Clone, Debug)]
pub(crate) struct Relation {
    arity: usize,
    args: Vec<ObjectId>,
    rows: HashTable<u32>,
    visible: u32,
    indexes: Vec<Index>,
    /// Results of [`Relation::distinct`] with the number of rows they were computed for.
    distinct: FxHashMap<Vec<usize>, (usize, usize)>,
}

#[derive(Clone, Debug)]
struct Index {
    positions: Vec<usize>,
    /// The newest visible row with a key.
    heads: Heads,
    /// For each visible row the next older one with the same key.
    next: Vec<u32>,
}

#[derive(Clone, Debug)]
enum Heads {
    /// Keys of one object: a table by object.
    Direct(Vec<u32>),
    /// Keys of several objects, hashed; rows of one chain may differ in their keys.
    Hashed(FxHashMap<u64, u32>),
}

fn hash(objects: impl Iterator<Item = ObjectId>) -> u64 {
    // A multiplicative hash (Fibonacci hashing) with a final mix of the high bits.
    let mut hash: u64 = 0x9e37_79b9_7f4a_7c15;
    for object in objects {
        hash = (hash.rotate_left(23) ^ u64::from(object.0)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    hash ^ (hash >> 32)
}

impl Index {
    fn first(&self, key: &[ObjectId]) -> u32 {
        match &self.heads {
            Heads::Direct(heads) => heads.get(key[0].index()).copied().unwrap_or(END),
            Heads::Hashed(heads) => heads.get(&hash(key.iter().copied())).copied().unwrap_or(END),
        }
    }

    fn push(&mut self, row: u32, args: &[ObjectId]) {
        let older = match &mut self.heads {
            Heads::Direct(heads) => {
                let object = args[self.positions[0]].index();
                if heads.len() <= object {
                    heads.resize(object + 1, END);
                }
                std::mem::replace(&mut heads[object], row)
            }
            Heads::Hashed(heads) => {
                let key = hash(self.positions.iter().map(|&p| args[p]));
                heads.insert(key, row).unwrap_or(END)
            }
        };
        self.next.push(older);
    }
}

impl Relation {
    pub(crate) fn new(arity: usize) -> Relation {
        Relation {
            arity,
            args: Vec::new(),
            rows: HashTable::new(),
            visible: 0,
            indexes: Vec::new(),
            distinct: FxHashMap::default(),
        }
    }

    /// The number of rows, visible or not.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn row(&self, row: u32) -> &[ObjectId] {
        let start = row as usize * self.arity;
        &self.args[start..start + self.arity]
    }

    pub(crate) fn find(&self, args: &[ObjectId]) -> Option<u32> {
        self.rows.find(hash(args.iter().copied()), |&row| self.row(row) == args).copied()
    }

    /// The row of `args` and whether it is new.
    pub(crate) fn insert(&mut self, args: &[ObjectId]) -> (u32, bool) {
        if let Some(row) = self.find(args) {
            return (row, false);
        }
        let row = u32::try_from(self.rows.len()).expect("fewer than 2^32 facts per predicate");
        self.args.extend_from_slice(args);
        let (arity, all) = (self.arity, &self.args);
        self.rows.insert_unique(hash(args.iter().copied()), row, |&row| {
            hash(all[row as usize * arity..][..arity].iter().copied())
        });
        (row, true)
    }

    /// The visible row of `args`.
    pub(crate) fn find_visible(&self, args: &[ObjectId]) -> Option<u32> {
        self.find(args).filter(|&row| row < self.visible)
    }

    /// Makes the oldest row that is not visible visible.
    pub(crate) fn publish(&mut self) -> u32 {
        let row = self.visible;
        self.visible += 1;
        let (arity, all) = (self.arity, &self.args);
        for index in &mut self.indexes {
            index.push(row, &all[row as usize * arity..][..arity]);
        }
        row
    }

    /// The number of the index on these positions, made if need be; `positions` is not empty.
    pub(crate) fn index_on(&mut self, positions: &[usize]) -> usize {
        if let Some(i) = self.indexes.iter().position(|index| index.positions == positions) {
            return i;
        }
        let heads = match positions {
            [_] => Heads::Direct(Vec::new()),
            _ => Heads::Hashed(FxHashMap::default()),
        };
        let mut index = Index { positions: positions.to_vec(), heads, next: Vec::new() };
        for row in 0..self.visible {
            index.push(row, self.row(row));
        }
        self.indexes.push(index);
        self.indexes.len() - 1
    }

    /// The number of different keys that the rows have at `positions`, up to hash collisions.
    pub(crate) fn distinct(&mut self, positions: &[usize]) -> usize {
        let rows = self.len();
        if let Some(&(counted_rows, count)) = self.distinct.get(positions)
            && counted_rows == rows
        {
            return count;
        }
        let key = |row| hash(positions.iter().map(|&p| self.row(row)[p]));
        let mut keys: Vec<u64> = (0..rows as u32).map(key).collect();
        keys.sort_unstable();
        keys.dedup();
        self.distinct.insert(positions.to_vec(), (rows, keys.len()));
        keys.len()
    }

    /// A cursor over the visible rows whose arguments at the index's positions are `key`.
    pub(crate) fn lookup(&self, index: Option<usize>, key: &[ObjectId]) -> Cursor {
        match index {
            None => Cursor { index, row: if self.visible > 0 { self.visible - 1 } else { END } },
            Some(i) => {
                let cursor = Cursor { index, row: self.indexes[i].first(key) };
                self.skip_collisions(cursor, key)
            }
        }
    }

    /// The cursor after `cursor`.
    pub(crate) fn advance(&self, cursor: Cursor, key: &[ObjectId]) -> Cursor {
        let row = cursor.row;
        match cursor.index {
            None => Cursor { row: if row > 0 { row - 1 } else { END }, ..cursor },
            Some(i) => {
                let next = Cursor { row: self.indexes[i].next[row as usize], ..cursor };
                self.skip_collisions(next, key)
            }
        }
    }

    fn skip_collisions(&self, mut cursor: Cursor, key: &[ObjectId]) -> Cursor {
        let Some(i) = cursor.index else { return cursor };
        let index = &self.indexes[i];
        if matches!(index.heads, Heads::Hashed(_)) {
            while let Some(row) = cursor.row() {
                let args = self.row(row);
                if index.positions.iter().zip(key).all(|(&p, &object)| args[p] == object) {
                    break;
                }
                cursor.row = index.next[row as usize];
            }
        }
        cursor
    }
}

/// A position in the rows that match a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor {
    index: Option<usize>,
    row: u32,
}

impl Cursor {
    /// The row it stands on, if it is not past the end.
    #[inline]
    pub(crate) fn row(self) -> Option<u32> {
        (self.row != END).then_some(self.row)
    }
}
