//! A client that writes until the server is gone, and remembers what it was told.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use tokio::sync::mpsc::UnboundedSender;

use super::dice::Dice;
use super::model::{Objects, State, config_map, state};

/// One writer. Nobody else touches its objects, and it never uses a name twice.
pub(crate) struct Writer {
    number: u64,
    dice: Dice,
    writes: u64,
    objects: Objects,
    /// Acknowledged since the last restart; no state is a deletion.
    acknowledged: Vec<(String, Option<State>)>,
    /// Asked for and never answered: it may have happened or not.
    unanswered: Option<Change>,
}

/// What a write makes of an object; no value deletes it.
struct Change {
    name: String,
    value: Option<String>,
}

impl Writer {
    pub(crate) fn new(number: u64, dice: Dice) -> Self {
        let objects = Objects::new();
        Self { number, dice, writes: 0, objects, acknowledged: Vec::new(), unanswered: None }
    }

    /// Writes until an answer does not come.
    pub(crate) async fn write(mut self, api: Api<ConfigMap>, acknowledge: UnboundedSender<Option<u64>>) -> Self {
        self.acknowledged.clear();
        loop {
            let change = self.choose();
            match self.send(&api, &change).await {
                Ok(state) => {
                    let _ = acknowledge.send(state.as_ref().map(|state| state.revision));
                    match &state {
                        Some(state) => self.objects.insert(change.name.clone(), state.clone()),
                        None => self.objects.remove(&change.name),
                    };
                    self.acknowledged.push((change.name, state));
                }
                Err(kube::Error::Api(refusal)) => panic!("{} was refused: {refusal:?}", change.name),
                Err(_) => {
                    self.unanswered = Some(change);
                    return self;
                }
            }
        }
    }

    /// What was acknowledged since the last restart.
    pub(crate) fn acknowledged(&self) -> &[(String, Option<State>)] {
        &self.acknowledged
    }

    pub(crate) fn holds(&self, name: &str) -> bool {
        self.objects.contains_key(name)
    }

    /// Everything acknowledged is there as it was acknowledged; what was not answered happened or did not.
    pub(crate) fn compare(&mut self, found: &Objects) {
        if let Some(change) = self.unanswered.take() {
            let before = self.objects.get(&change.name);
            let now = found.get(&change.name);
            let happened = now.map(|state| &state.value) == change.value.as_ref();
            assert!(happened || now == before, "{}: {now:?} is neither {before:?} nor {:?}", change.name, change.value);
            match now {
                Some(state) => self.objects.insert(change.name, state.clone()),
                None => self.objects.remove(&change.name),
            };
        }
        for (name, state) in &self.objects {
            assert_eq!(found.get(name), Some(state), "the acknowledged write of {name} is lost");
        }
    }

    fn choose(&mut self) -> Change {
        self.writes += 1;
        let value = format!("{} of {}", self.writes, self.number);
        let chosen = match self.objects.len() as u64 {
            0 => None,
            held => self.objects.keys().nth(self.dice.below(held) as usize).cloned(),
        };
        match (self.dice.below(10), chosen) {
            (0..4, Some(name)) => Change { name, value: Some(value) },
            (4..6, Some(name)) => Change { name, value: None },
            _ => Change { name: format!("writer-{}-{}", self.number, self.writes), value: Some(value) },
        }
    }

    async fn send(&self, api: &Api<ConfigMap>, change: &Change) -> kube::Result<Option<State>> {
        let Some(value) = &change.value else {
            return api.delete(&change.name, &DeleteParams::default()).await.map(|_| None);
        };
        let mut object = config_map(&change.name, value);
        let params = PostParams::default();
        let answer = match self.objects.get(&change.name) {
            None => api.create(&params, &object).await?,
            Some(held) => {
                object.metadata.resource_version = Some(held.revision.to_string());
                api.replace(&change.name, &params, &object).await?
            }
        };
        let state = state(&answer);
        assert_eq!(&state.value, value, "another content was acknowledged");
        Ok(Some(state))
    }
}
