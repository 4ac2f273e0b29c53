//! What every registry does with secrets.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use tokio::task::JoinSet;

use super::{Fresh, fresh_stores};
use crate::{Registry, registry::MAX_SECRETS, testing::eventually};

type Shared = Arc<dyn Registry>;

const LONG: Duration = Duration::from_secs(600);

pub async fn all(fresh: Fresh<'_>) {
    let registry = || fresh_stores(fresh).registry;
    a_secret_is_the_same_for_all_who_ask_however_early(registry()).await;
    secrets_of_two_names_differ(registry()).await;
    a_rotated_secret_has_the_new_key_first_and_the_old_one_for_a_while(registry()).await;
    a_second_rotation_keeps_no_key_for_longer_than_the_first_one_said(registry()).await;
    of_many_rotations_the_newest_keys_are_kept(registry()).await;
}

async fn a_secret_is_the_same_for_all_who_ask_however_early(registry: Shared) {
    let mut asking = JoinSet::new();
    for _ in 0..20 {
        let registry = registry.clone();
        asking.spawn(async move { registry.secret("state").await.unwrap() });
    }

    let answers: BTreeSet<_> = asking.join_all().await.into_iter().collect();

    assert_eq!(answers.len(), 1);
    assert_eq!(answers.first().map(Vec::len), Some(1));
}

async fn secrets_of_two_names_differ(registry: Shared) {
    let state = registry.secret("state").await.unwrap();

    assert_ne!(registry.secret("{cursor} *").await.unwrap(), state);
    assert_eq!(registry.secret("state").await.unwrap(), state);
}

async fn a_rotated_secret_has_the_new_key_first_and_the_old_one_for_a_while(registry: Shared) {
    let before = registry.secret("kept").await.unwrap();
    let [old] = registry.secret("brief").await.unwrap()[..] else { panic!("more than one") };

    registry.rotate("kept", LONG).await.unwrap();
    let during = registry.secret("kept").await.unwrap();
    registry.rotate("brief", Duration::from_millis(30)).await.unwrap();
    let [new, ..] = registry.secret("brief").await.unwrap()[..] else { panic!("none") };
    let after = eventually(async || {
        let keys = registry.secret("brief").await.unwrap();
        (keys.len() == 1).then_some(keys)
    })
    .await;

    assert_eq!((during.len(), during[1]), (2, before[0]));
    assert_ne!(during[0], before[0]);
    assert_eq!(after, [new]);
    assert_ne!(new, old);
}

async fn a_second_rotation_keeps_no_key_for_longer_than_the_first_one_said(registry: Shared) {
    let first = registry.secret("state").await.unwrap()[0];

    registry.rotate("state", Duration::from_millis(30)).await.unwrap();
    let second = registry.secret("state").await.unwrap()[0];
    registry.rotate("state", LONG).await.unwrap();
    let kept = eventually(async || {
        let keys = registry.secret("state").await.unwrap();
        (!keys.contains(&first)).then_some(keys)
    })
    .await;

    assert_eq!((kept.len(), kept[1]), (2, second));
}

async fn of_many_rotations_the_newest_keys_are_kept(registry: Shared) {
    let first = registry.secret("state").await.unwrap()[0];
    for _ in 1..MAX_SECRETS {
        registry.rotate("state", Duration::MAX).await.unwrap();
    }
    let full = registry.secret("state").await.unwrap();

    registry.rotate("state", Duration::MAX).await.unwrap();
    let keys = registry.secret("state").await.unwrap();

    assert_eq!((full.len(), keys.len()), (MAX_SECRETS, MAX_SECRETS));
    assert!(full.contains(&first) && !keys.contains(&first));
    assert!(keys.contains(&full[0]) && keys[0] != full[0]);
}
