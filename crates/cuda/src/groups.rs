//! Attention and means over groups of tokens, with their derivatives.
//!
//! Groups of similar size are padded to rectangles (`Bucket`); a padded place has logit −10⁹
//! and so weight zero, and what a padded query attends to is never read.

use burn::backend::Cuda;
use burn::tensor::activation::softmax;
use burn::tensor::{Distribution, Tensor, TensorData};
use lcp::network::Attention;
use lcp::network::tokens::Stage;

use crate::padding::padded_rows;
use crate::products::Products;
use crate::sums::{Indices, RowSums, indices};
use crate::{Device, Matrix};

const PADDING: f32 = -1e9;

type Tensor3 = Tensor<Cuda, 3>;

/// The groups of one attention.
#[derive(Debug)]
pub(crate) struct Groups {
    buckets: Vec<Bucket>,
    /// Sums over the places of all buckets, per old token.
    member_sums: RowSums,
    /// The same over the queries; none if tokens attend to means.
    query_sums: Option<RowSums>,
    /// The place of each new token among the queries of all buckets.
    places: Indices,
}

/// Groups of similar size, padded to a rectangle.
#[derive(Debug)]
struct Bucket {
    /// Groups, places a group, queries a group.
    shape: [usize; 3],
    /// The old token of each place, [groups·places].
    members: Indices,
    /// The old token of each query, [groups·queries].
    queries: Indices,
    /// The new token of each query, or one past the last, [groups·queries].
    outs: Indices,
    /// ln of the multiplicity of each place, −10⁹ for padding, [groups, 1, places].
    log_multiplicity: Tensor3,
}

impl Groups {
    /// Pads the groups of a stage on `old` tokens; `new` rows are wanted for its new tokens.
    /// With [`Attention::Mean`] the second result is the place of each new token's group among
    /// the means.
    pub(crate) fn new(
        attention: Attention,
        stage: &Stage,
        [old, new]: [usize; 2],
        device: &Device,
    ) -> (Groups, Vec<Option<u32>>) {
        let mut layout = Layout::default();
        let buckets: Vec<Bucket> = buckets(stage)
            .into_iter()
            .map(|bucket| layout.bucket(stage, bucket, new, device))
            .collect();
        let mut places = vec![None; new];
        let (mut group_of, mut group_place) = (vec![None; new], 0);
        for (place, out) in layout.outs.iter().enumerate() {
            if let Some(out) = *out {
                places[out as usize] = Some(place as u32);
            }
        }
        for bucket in &layout.groups {
            for &group in bucket {
                stage.outs(group).for_each(|out| group_of[out] = Some(group_place));
                group_place += 1;
            }
        }
        let sums = |target: &[Option<u32>]| RowSums::new(target, old, device);
        let groups = Groups {
            buckets,
            member_sums: sums(&layout.members),
            query_sums: (attention == Attention::Learned).then(|| sums(&layout.queries)),
            places: indices(&places, device),
        };
        (groups, group_of)
    }

    /// The number of groups, and so of means.
    pub(crate) fn count(&self) -> usize {
        self.buckets.iter().map(|bucket| bucket.shape[0]).sum()
    }

    /// The mean of each group's tokens: [groups, w].
    pub(crate) fn means(&self, x: Matrix, products: Products) -> Matrix {
        let width = x.dims()[1];
        let mean = |bucket: &Bucket| {
            let [groups, places, _] = bucket.shape;
            let members = x.clone().select(0, bucket.members.clone());
            let members = members.reshape([groups, places, width]);
            products.of(bucket.shares(), members).reshape([groups, width])
        };
        Tensor::cat(self.buckets.iter().map(mean).collect(), 0)
    }
}

/// The places of all buckets so far.
#[derive(Default)]
struct Layout {
    members: Vec<Option<u32>>,
    queries: Vec<Option<u32>>,
    outs: Vec<Option<u32>>,
    groups: Vec<Vec<usize>>,
}

impl Layout {
    fn bucket(
        &mut self,
        stage: &Stage,
        (groups, [places, queries]): (Vec<usize>, [usize; 2]),
        new: usize,
        device: &Device,
    ) -> Bucket {
        let (first_member, first_query) = (self.members.len(), self.queries.len());
        let mut log_multiplicity = Vec::with_capacity(groups.len() * places);
        for (g, &group) in groups.iter().enumerate() {
            let members = stage.members(group);
            self.members.extend(stage.member[members.clone()].iter().map(|&old| Some(old)));
            self.members.resize(first_member + (g + 1) * places, None);
            log_multiplicity.extend(stage.multiplicity[members].iter().map(|n| n.ln()));
            log_multiplicity.resize((g + 1) * places, PADDING);
            let outs = stage.outs(group);
            self.queries.extend(stage.out_input[outs.clone()].iter().map(|&old| Some(old)));
            self.queries.resize(first_query + (g + 1) * queries, None);
            self.outs.extend(outs.map(|out| Some(out as u32)));
            self.outs.resize(first_query + (g + 1) * queries, None);
        }
        let outs = &self.outs[first_query..];
        let outs: Vec<_> = outs.iter().map(|out| out.or(Some(new as u32))).collect();
        let shape = [groups.len(), places, queries];
        self.groups.push(groups);
        let log_multiplicity = TensorData::new(log_multiplicity, [shape[0], 1, places]);
        Bucket {
            shape,
            members: indices(&self.members[first_member..], device),
            queries: indices(&self.queries[first_query..], device),
            outs: indices(&outs, device),
            log_multiplicity: Tensor::from_data(log_multiplicity, device),
        }
    }
}

/// The groups of each bucket, with its places and queries per group.
fn buckets(stage: &Stage) -> Vec<(Vec<usize>, [usize; 2])> {
    let members = |group: usize| padded_rows(stage.members(group).len(), 1);
    let mut order: Vec<usize> = (0..stage.groups()).collect();
    order.sort_by_key(|&group| members(group));
    let mut buckets: Vec<(Vec<usize>, [usize; 2])> = Vec::new();
    for groups in order.chunk_by(|&a, &b| members(a) == members(b)) {
        let most = groups.iter().map(|&group| stage.outs(group).len()).max().unwrap_or(0);
        let queries = padded_rows(most, 1);
        let mut groups = groups.to_vec();
        let mut shape = [members(groups[0]), queries];
        // A bucket costs about as much as this many padded pairs of tokens.
        const BUCKET: usize = 1 << 20;
        if let Some((smaller, old_shape)) = buckets.last() {
            shape[1] = shape[1].max(old_shape[1]);
            let pairs = |shape: &[usize; 2]| shape[0] * shape[1];
            let added = smaller.len() * (pairs(&shape) - pairs(old_shape));
            if added <= BUCKET {
                groups.splice(0..0, buckets.pop().expect("there is one").0);
            } else {
                shape[1] = queries;
            }
        }
        buckets.push((groups, shape));
    }
    buckets
}

impl Bucket {
    /// The weight of each place in the mean: [groups, 1, places].
    fn shares(&self) -> Tensor3 {
        softmax(self.log_multiplicity.clone(), 2)
    }
}

/// How to attend.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// The number of heads.
    pub(crate) heads: usize,
    /// What q·k is multiplied with.
    pub(crate) scale: f64,
    /// The share of weights that is zeroed.
    pub(crate) dropout: f64,
    /// How matrices are multiplied.
    pub(crate) products: Products,
}

/// What attention keeps for its derivatives.
#[derive(Debug)]
pub(crate) struct Attended {
    settings: Settings,
    /// Scaled queries, keys and values, [old, w].
    qkv: [Matrix; 3],
    /// For each bucket the weights and what they are multiplied with for dropout,
    /// [groups·heads, queries, places].
    weights: Vec<(Tensor3, Option<Tensor3>)>,
}

impl Groups {
    /// softmax(scale·q·kᵀ + ln n)·v in each group: [new, w].
    pub(crate) fn attend(&self, [q, k, v]: [Matrix; 3], settings: Settings) -> (Matrix, Attended) {
        let qkv = [q * settings.scale, k, v];
        let Settings { heads, products, .. } = settings;
        let mut weights = Vec::new();
        let mut attended = Vec::new();
        for bucket in &self.buckets {
            let [n, places, queries] = bucket.shape;
            let [q, k, v] = bucket.split(&qkv, heads);
            let logits = products.of(q, k.swap_dims(1, 2)).reshape([n, heads * queries, places]);
            let shares = softmax(logits + bucket.log_multiplicity.clone(), 2);
            let shares = shares.reshape([n * heads, queries, places]);
            let kept = kept(shares.dims(), settings.dropout, &shares.device());
            attended.push(join(products.of(dropped(shares.clone(), &kept), v), n, heads));
            weights.push((shares, kept));
        }
        let attended = Tensor::cat(attended, 0).select(0, self.places.clone());
        (attended, Attended { settings, qkv, weights })
    }

    /// The derivatives of queries, keys and values, given that of what is attended to.
    pub(crate) fn attend_backward(&self, tape: &Attended, d_attended: Matrix) -> [Matrix; 3] {
        let Settings { heads, scale, products, .. } = tape.settings;
        let width = d_attended.dims()[1];
        let zero = Tensor::zeros([1, width], &d_attended.device());
        let d_attended = Tensor::cat(vec![d_attended, zero], 0);
        let (mut d_q, mut d_k, mut d_v) = (Vec::new(), Vec::new(), Vec::new());
        for (bucket, (shares, kept)) in self.buckets.iter().zip(&tape.weights) {
            let [n, _, queries] = bucket.shape;
            let [q, k, v] = bucket.split(&tape.qkv, heads);
            let d_out = d_attended.clone().select(0, bucket.outs.clone());
            let d_out = split(d_out, n, queries, heads);
            let used = dropped(shares.clone(), kept);
            d_v.push(join(products.of(used.swap_dims(1, 2), d_out.clone()), n, heads));
            let d_shares = dropped(products.of(d_out, v.swap_dims(1, 2)), kept);
            let weighted = d_shares * shares.clone();
            let total = weighted.clone().sum_dim(2);
            let d_logits = weighted - shares.clone() * total; // [groups·heads, queries, places]
            d_q.push(join(products.of(d_logits.clone(), k), n, heads));
            d_k.push(join(products.of(d_logits.swap_dims(1, 2), q), n, heads));
        }
        let query_sums = self.query_sums.as_ref().expect("attention is learned");
        [query_sums.sum(d_q) * scale, self.member_sums.sum(d_k), self.member_sums.sum(d_v)]
    }

    /// The derivative of the tokens, given that of the means.
    pub(crate) fn means_backward(&self, d_means: Matrix) -> Matrix {
        let width = d_means.dims()[1];
        let mut first = 0;
        let of_members = self.buckets.iter().map(|bucket| {
            let [n, places, _] = bucket.shape;
            let of_means = d_means.clone().slice([first..first + n, 0..width]);
            first += n;
            let shares = bucket.shares().swap_dims(1, 2); // [groups, places, 1]
            (of_means.reshape([n, 1, width]) * shares).reshape([n * places, width])
        });
        self.member_sums.sum(of_members.collect())
    }
}

impl Bucket {
    /// Queries, keys and values of the bucket, [groups·heads, queries or places, w/heads].
    fn split(&self, [q, k, v]: &[Matrix; 3], heads: usize) -> [Tensor3; 3] {
        let [n, places, queries] = self.shape;
        let of = |x: &Matrix, index: &Indices, each: usize| {
            split(x.clone().select(0, index.clone()), n, each, heads)
        };
        [of(q, &self.queries, queries), of(k, &self.members, places), of(v, &self.members, places)]
    }
}

/// [n·each, w] as [n·heads, each, w/heads].
fn split(x: Matrix, n: usize, each: usize, heads: usize) -> Tensor3 {
    let head = x.dims()[1] / heads;
    if heads == 1 {
        return x.reshape([n, each, head]);
    }
    x.reshape([n, each, heads, head]).swap_dims(1, 2).reshape([n * heads, each, head])
}

/// The inverse of [`split`].
fn join(x: Tensor3, n: usize, heads: usize) -> Matrix {
    let [_, each, head] = x.dims();
    if heads == 1 {
        return x.reshape([n * each, head]);
    }
    x.reshape([n, heads, each, head]).swap_dims(1, 2).reshape([n * each, heads * head])
}

/// What to multiply with to drop a share of the values; nothing if none is dropped.
pub(crate) fn kept<const D: usize>(
    shape: [usize; D],
    share: f64,
    device: &Device,
) -> Option<Tensor<Cuda, D>> {
    let keep = 1.0 - share;
    (share > 0.0).then(|| Tensor::random(shape, Distribution::Bernoulli(keep), device) / keep)
}

/// The values that are kept, or their derivatives.
pub(crate) fn dropped<const D: usize>(
    x: Tensor<Cuda, D>,
    kept: &Option<Tensor<Cuda, D>>,
) -> Tensor<Cuda, D> {
    match kept {
        Some(kept) => x * kept.clone(),
        None => x,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::backend::Backend;

    /// The correlation of two sequences in standard deviations of that of independent ones.
    fn correlation(x: &[f32], y: &[f32]) -> f64 {
        assert_eq!(x.len(), y.len());
        let n = x.len() as f64;
        let mean = |x: &[f32]| x.iter().map(|&x| f64::from(x)).sum::<f64>() / n;
        let (mean_x, mean_y) = (mean(x), mean(y));
        let mut sums = [0.0; 3];
        for (&x, &y) in x.iter().zip(y) {
            let (x, y) = (f64::from(x) - mean_x, f64::from(y) - mean_y);
            sums[0] += x * y;
            sums[1] += x * x;
            sums[2] += y * y;
        }
        sums[0] / (sums[1] * sums[2]).sqrt() * n.sqrt()
    }

    #[test]
    #[ignore = "needs an NVIDIA GPU"]
    fn masks_keep_their_share_and_are_independent() {
        // What chance allows, or too little to matter: some of these are correlated by 0.002.
        const MOST: (f64, f64) = (5.0, 0.01);
        let device = Device::default();
        let masks = |shape: [usize; 3], share: f64, seed: u64| -> [Vec<f32>; 2] {
            <Cuda as Backend>::seed(&device, seed);
            let both = [(); 2].map(|()| kept(shape, share, &device).expect("some are dropped"));
            both.map(|mask| mask.to_data().to_vec().expect("floats of 32 bits"))
        };
        for (shape, share) in [([1, 256, 64], 0.3), ([1, 12288, 416], 0.2), ([48, 96, 192], 0.1)] {
            let [places, queries] = [shape[2], shape[1]];
            for seed in [0, 1, 1 << 40] {
                let [first, second] = masks(shape, share, seed);
                assert_eq!(masks(shape, share, seed), [first.clone(), second.clone()]);
                let next = masks(shape, share, seed + 1);
                let n = first.len() as f64;
                let kept = first.iter().filter(|&&x| x > 0.0).count() as f64;
                let share_off = (kept - n * (1.0 - share)) / (n * share * (1.0 - share)).sqrt();
                let mut found = vec![
                    ("share".to_owned(), share_off),
                    ("of one pass".to_owned(), correlation(&first, &second)),
                    ("of the next seed".to_owned(), correlation(&first, &next[0])),
                    ("of the next seed, other".to_owned(), correlation(&second, &next[0])),
                ];
                let lags = (1..=16).chain([32, 64, 128, 256, 512, 1024, 4096, 32768]);
                for lag in lags.chain([places, 2 * places, places * queries]) {
                    if lag < first.len() / 2 {
                        let off = correlation(&first[lag..], &first[..first.len() - lag]);
                        found.push((format!("at a distance of {lag}"), off));
                    }
                }
                found.sort_by(|(_, a), (_, b)| b.abs().total_cmp(&a.abs()));
                println!("{shape:?}, seed {seed}: share {share_off:.2}, most {:?}", &found[..3]);
                let (what, off) = &found[0];
                let most = MOST.0.max(MOST.1 * n.sqrt());
                assert!(off.abs() < most, "{shape:?}, seed {seed}: {what} {off} deviations");
            }
        }
    }
}
