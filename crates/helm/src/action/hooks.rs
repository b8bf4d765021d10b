//! Running the hooks of an event.

use serde_json::Value as Json;

use super::cluster::Leaving;
use super::error::ActionError;
use super::kinds::Located;
use super::work::Work;
use crate::health;
use crate::manifest::{DeletePolicy, Event};
use crate::release::{Hook, Phase, Release, Run};

impl Work<'_> {
    /// Runs the hooks of an event, one after the other, by weight and name. The record tells how far they are, so that
    /// those that succeeded are not run again when the event is taken up after a crash.
    pub(super) async fn hooks(&self, release: &mut Release, event: Event) -> Result<(), ActionError> {
        let order = order(&release.hooks, event);
        if self.options.no_hooks || order.is_empty() {
            return Ok(());
        }
        if release.pending.event != event.name() {
            event.name().clone_into(&mut release.pending.event);
            for index in &order {
                if let Some(hook) = release.hooks.get_mut(*index) {
                    hook.last_run = Run::default();
                }
            }
        }
        for (position, index) in order.iter().enumerate() {
            let Some(hook) = release.hooks.get_mut(*index) else { continue };
            if hook.delete_policies.is_empty() {
                hook.delete_policies.push(DeletePolicy::BeforeCreation.name().to_owned());
            }
            if hook.last_run.phase == Phase::Succeeded {
                continue;
            }
            let hook = hook.clone();
            let objects = self.hook_objects(&hook)?;
            if let Err(error) = self.hook(release, *index, &hook, &objects, event).await {
                if error.is_inconclusive() {
                    return Err(error);
                }
                self.ended(release, *index, Phase::Failed);
                self.records.update(release, self.now()).await?;
                self.delete_hook(&hook, &objects, DeletePolicy::Failed).await?;
                let before = order.get(..position).unwrap_or_default();
                self.delete_succeeded(release, before).await?;
                return Err(error);
            }
            self.ended(release, *index, Phase::Succeeded);
        }
        self.records.update(release, self.now()).await?;
        self.delete_succeeded(release, &order).await
    }

    async fn hook(
        &self,
        release: &mut Release,
        index: usize,
        hook: &Hook,
        objects: &[Located],
        event: Event,
    ) -> Result<(), ActionError> {
        // One that was running when we were killed was deleted before: what is there now is this run.
        if hook.last_run.phase != Phase::Running {
            self.delete_hook(hook, objects, DeletePolicy::BeforeCreation).await?;
            if let Some(hook) = release.hooks.get_mut(index) {
                hook.last_run = Run { started_at: Some(self.now()), completed_at: None, phase: Phase::Running };
            }
            self.records.update(release, self.now()).await?;
        }
        for object in objects {
            self.cluster.apply(object, self.writing()).await?;
        }
        for object in objects {
            let running = "it has not ended yet";
            let ended = |live: Option<&Json>| match live.map(health::completion) {
                Some(Some(result)) => Ok(result),
                Some(None) => Err(running.to_owned()),
                None => Ok(Err("somebody deleted it".to_owned())),
            };
            // Only Jobs and Pods have an end.
            if health::completion(&object.json).is_some() {
                continue;
            }
            let result = match self.cluster.until(object, self.options.timeout, running, ended).await {
                Err(ActionError::NotReady { object, reason, after }) => {
                    let reason = format!("after {} s {reason}", after.as_secs());
                    return Err(ActionError::Hook { event, object, reason });
                }
                other => other?,
            };
            result.map_err(|reason| ActionError::Hook { event, object: Box::new(object.name.clone()), reason })?;
        }
        Ok(())
    }

    fn ended(&self, release: &mut Release, index: usize, phase: Phase) {
        if let Some(hook) = release.hooks.get_mut(index) {
            hook.last_run.completed_at = Some(self.now());
            hook.last_run.phase = phase;
        }
    }

    async fn delete_succeeded(&self, release: &Release, order: &[usize]) -> Result<(), ActionError> {
        for hook in order.iter().rev().filter_map(|index| release.hooks.get(*index)) {
            self.delete_hook(hook, &self.hook_objects(hook)?, DeletePolicy::Succeeded).await?;
        }
        Ok(())
    }

    async fn delete_hook(&self, hook: &Hook, objects: &[Located], policy: DeletePolicy) -> Result<(), ActionError> {
        // With a definition, all objects of its kind would go.
        if !hook.is_deleted(policy) || hook.kind == "CustomResourceDefinition" {
            return Ok(());
        }
        for object in objects {
            if self.cluster.delete(object).await? == Leaving::OnItsWay {
                self.cluster.until_gone(object, self.options.timeout).await?;
            }
        }
        Ok(())
    }

    fn hook_objects(&self, hook: &Hook) -> Result<Vec<Located>, ActionError> {
        self.kinds.locate_all(&hook.manifest, &self.options.namespace)
    }
}

/// The hooks of an event in the order they run.
fn order(hooks: &[Hook], event: Event) -> Vec<usize> {
    let mut found: Vec<(usize, &Hook)> = hooks.iter().enumerate().filter(|(_, hook)| hook.runs_at(event)).collect();
    found.sort_by(|(_, a), (_, b)| (a.weight, &a.name).cmp(&(b.weight, &b.name)));
    found.into_iter().map(|(index, _)| index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_run_by_weight_and_name() {
        let hook = |name: &str, weight, event: Event| Hook {
            name: name.to_owned(),
            weight,
            events: vec![event.name().to_owned()],
            ..Hook::default()
        };
        let hooks = [
            hook("b", 0, Event::PreInstall),
            hook("z", -1, Event::PreInstall),
            hook("a", 0, Event::PreInstall),
            hook("x", -9, Event::PostInstall),
        ];
        assert_eq!(order(&hooks, Event::PreInstall), [1, 2, 0]);
        assert!(order(&hooks, Event::Test).is_empty());
    }
}
