//! Medians, percentiles and ratios.

use serde::Serialize;

/// The middle of some values and how far they lie apart.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    pub median: f64,
    pub least: f64,
    pub most: f64,
}

impl Spread {
    /// The spread of `values`, or `None` when there are none.
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let (&least, &most) = (values.first()?, values.last()?);
        let middle = values.len() / 2;
        let median = if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 };
        Some(Self { median, least, most })
    }

    /// The spread of the ratios of values that belong together, such as those of one round. What was measured in
    /// pairs shares its noise, so this says more than the ratio of two medians.
    pub fn of_ratios(pairs: impl Iterator<Item = (f64, f64)>) -> Option<Self> {
        Self::of(pairs.filter(|&(_, divisor)| divisor > 0.0).map(|(value, divisor)| value / divisor).collect())
    }
}

/// The value that `share` (0 to 1) of `values` do not exceed, by nearest rank; 0 when there are none. Reorders them.
pub fn percentile(values: &mut [u32], share: f64) -> u32 {
    if values.is_empty() {
        return 0;
    }
    let rank = (share * values.len() as f64).ceil() as usize;
    let at = rank.clamp(1, values.len()) - 1;
    *values.select_nth_unstable(at).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_or_between_the_two_in_the_middle() {
        assert_eq!(Spread::of(vec![3.0, 1.0, 2.0]), Some(Spread { median: 2.0, least: 1.0, most: 3.0 }));
        assert_eq!(Spread::of(vec![4.0, 1.0, 2.0, 3.0]), Some(Spread { median: 2.5, least: 1.0, most: 4.0 }));
        assert_eq!(Spread::of(vec![]), None);
    }

    #[test]
    fn ratios_are_taken_pair_by_pair() {
        let pairs = [(2.0, 1.0), (40.0, 10.0), (9.0, 3.0)];

        let spread = Spread::of_ratios(pairs.into_iter());

        assert_eq!(spread, Some(Spread { median: 3.0, least: 2.0, most: 4.0 }));
    }

    #[test]
    fn a_pair_that_has_no_ratio_is_left_out() {
        assert_eq!(Spread::of_ratios([(1.0, 0.0)].into_iter()), None);
    }

    #[test]
    fn a_percentile_is_a_value_that_was_measured() {
        let mut values: Vec<u32> = (1..=100).rev().collect();

        assert_eq!(percentile(&mut values, 0.5), 50);
        assert_eq!(percentile(&mut values, 0.99), 99);
        assert_eq!(percentile(&mut values, 1.0), 100);
        assert_eq!(percentile(&mut [7], 0.99), 7);
        assert_eq!(percentile(&mut [], 0.5), 0);
    }
}
