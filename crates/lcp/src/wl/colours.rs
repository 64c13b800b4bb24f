//! The exact "hash" of Weisfeiler-Leman: signatures of colours, and the way back.
//!
//! A colour of iteration j ≥ 1 is known by its signature: the node's colour of iteration j-1, then
//! the sorted set of (neighbour's colour of iteration j-1, edge colour).
//! Colours of different iterations have different numbers, so a colour determines the node's
//! colours of all earlier iterations: its [`ColourTable::parent`]s.

use super::lists::ListTable;

/// A node colour: its number in a [`ColourTable`], or one of the two marks below.
pub(super) type Colour = u32;

/// The mark of a colour that is not in the vocabulary, or that depends on one.
pub(super) const DROPPED: Colour = u32::MAX;

/// The mark of a node that the graph of this state does not have.
pub(super) const ABSENT: Colour = u32::MAX - 1;

/// Whether `colour` is a number rather than a mark.
#[inline]
pub(super) fn is_known(colour: Colour) -> bool {
    colour < ABSENT
}

/// The own colour, then the neighbours, packed, ascending and without duplicates.
pub(super) type Signature = [u64];

/// Packs a neighbour's colour and an edge colour; numbers order by the first, then the second.
#[inline]
pub(super) fn pack(colour: Colour, edge: u32) -> u64 {
    u64::from(colour) << 32 | u64::from(edge)
}

/// Packs the own colour, which begins a signature; it equals no neighbour.
#[inline]
pub(super) fn pack_own(colour: Colour) -> u64 {
    pack(colour, u32::MAX)
}

/// The colour and the edge colour of a neighbour.
#[inline]
pub(super) fn unpack(neighbour: u64) -> (Colour, u32) {
    ((neighbour >> 32) as u32, neighbour as u32)
}

/// Colours 0..`initial` of iteration 0, then colours by signature.
#[derive(Clone, Debug, Default)]
pub(super) struct ColourTable {
    initial: u32,
    signatures: ListTable<u64>,
}

impl ColourTable {
    /// A table with this many colours of iteration 0 and no others.
    pub(super) fn new(initial: usize) -> ColourTable {
        ColourTable { initial: initial as u32, signatures: ListTable::default() }
    }

    /// The number of colours.
    pub(super) fn len(&self) -> usize {
        self.initial as usize + self.signatures.len()
    }

    /// The node's colour one iteration before it had this one; none at iteration 0.
    #[inline]
    pub(super) fn parent(&self, colour: Colour) -> Option<Colour> {
        self.signature(colour).map(|signature| unpack(signature[0]).0)
    }

    /// The signature of a colour; none at iteration 0.
    #[inline]
    pub(super) fn signature(&self, colour: Colour) -> Option<&Signature> {
        colour.checked_sub(self.initial).map(|i| self.signatures.list(i as usize))
    }

    /// The colour with this signature.
    #[inline]
    pub(super) fn find(&self, signature: &Signature) -> Option<Colour> {
        self.signatures.find(signature).map(|i| self.initial + i)
    }

    /// The colour with this signature, which is added if it is new.
    pub(super) fn intern(&mut self, signature: &Signature) -> Colour {
        self.initial + self.signatures.intern(signature)
    }

    /// A colour and its parents, latest iteration first.
    pub(super) fn lineage(&self, colour: Colour) -> impl Iterator<Item = Colour> {
        std::iter::successors(Some(colour), |&colour| self.parent(colour))
    }
}
