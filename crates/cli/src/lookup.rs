//! From the name of a cluster to the cluster.

use butler_api::butler::TenantCluster;
use futures::{StreamExt, TryStreamExt, stream};
use kube::api::ListParams;
use kube::core::DynamicObject;
use kube::{Api, ResourceExt};

use crate::failure::{Code, Failure, Outcome};
use crate::session::{Session, cluster_resource};

/// Teams that are asked at the same time.
const AT_ONCE: usize = 8;

/// A cluster that was found.
pub(crate) struct Found {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) object: DynamicObject,
}

impl Found {
    fn new(object: DynamicObject) -> Self {
        Self { namespace: object.namespace().unwrap_or_default(), name: object.name_any(), object }
    }

    /// The cluster as a Rust type.
    pub(crate) fn cluster(&self) -> Outcome<TenantCluster> {
        Ok(serde_json::from_value(serde_json::to_value(&self.object)?)?)
    }

    /// How commands name it.
    pub(crate) fn arguments(&self) -> String {
        format!("{} -n {}", self.name, self.namespace)
    }
}

/// Finds a cluster by `NAME` or `TEAM/NAME`: in the team that is named, else in the current one, else anywhere the user
/// may look, if there is only one.
pub(crate) async fn find(session: &Session, name: &str) -> Outcome<Found> {
    let (written, name) = split(name, session.team.as_deref())?;
    if let Some(team) = written {
        let found = session.cluster_objects(team).get_opt(name).await?;
        return found.map(Found::new).ok_or_else(|| missing(name, &[team.to_owned()]));
    }
    for team in [&session.chosen_team, &session.context_namespace].into_iter().flatten() {
        match session.cluster_objects(team).get_opt(name).await {
            Ok(Some(object)) => return Ok(Found::new(object)),
            Err(error) if !Failure::is_forbidden(&error) => return Err(error.into()),
            Ok(None) | Err(_) => {}
        }
    }
    let everywhere: Api<DynamicObject> = Api::all_with(session.client.clone(), &cluster_resource());
    let by_name = ListParams::default().fields(&format!("metadata.name={name}"));
    match everywhere.list(&by_name).await {
        Ok(list) => only_one(name, list.items, &[]),
        Err(error) if Failure::is_forbidden(&error) => {
            let teams = visible_teams(session).await?;
            only_one(name, in_teams(session, name, &teams).await?, &teams)
        }
        Err(error) => Err(error.into()),
    }
}

/// The teams to ask one by one, for users who may not ask for all clusters at once.
pub(crate) async fn visible_teams(session: &Session) -> Outcome<Vec<String>> {
    match session.teams().await {
        Ok(teams) => Ok(teams),
        Err(error) if Failure::is_forbidden(&error) => {
            session.context_namespace.clone().map(|team| vec![team]).ok_or_else(|| {
                Failure::new(
                    Code::NotAllowed,
                    "you may not look into all teams, and are a member of none: name one with -n TEAM, or set BUTLER_TEAM",
                )
            })
        }
        Err(error) => Err(error.into()),
    }
}

async fn in_teams(session: &Session, name: &str, teams: &[String]) -> Outcome<Vec<DynamicObject>> {
    let asked = stream::iter(teams).map(|team| async move {
        match session.cluster_objects(team).get_opt(name).await {
            Err(error) if Failure::is_forbidden(&error) => Ok(None),
            answer => answer.map_err(Failure::from),
        }
    });
    let found: Vec<Option<DynamicObject>> = asked.buffered(AT_ONCE).try_collect().await?;
    Ok(found.into_iter().flatten().collect())
}

/// The team written before the name, or given by `-n`.
pub(crate) fn split<'a>(text: &'a str, team: Option<&'a str>) -> Outcome<(Option<&'a str>, &'a str)> {
    match (text.split_once('/'), team) {
        (None, team) => Ok((team, text)),
        (Some((written, name)), team) if team.is_none_or(|team| team == written) => Ok((Some(written), name)),
        (Some((written, _)), Some(team)) => {
            Err(Failure::usage(format!("{text:?} is in team {written}, but -n says {team}: leave one of them out")))
        }
        (Some(_), None) => Ok((None, text)),
    }
}

fn only_one(name: &str, mut found: Vec<DynamicObject>, searched: &[String]) -> Outcome<Found> {
    match found.len() {
        0 => Err(missing(name, searched)),
        1 => Ok(Found::new(found.swap_remove(0))),
        _ => {
            let teams: Vec<String> = found.iter().filter_map(ResourceExt::namespace).collect();
            Err(Failure::usage(format!(
                "{} clusters are called {name:?}: name the team with -n, one of {}",
                found.len(),
                teams.join(", ")
            )))
        }
    }
}

fn missing(name: &str, searched: &[String]) -> Failure {
    let place = match searched {
        [] => "among those you may see".to_owned(),
        [team] => format!("in team {team}"),
        teams => format!("in the teams {}", teams.join(", ")),
    };
    Failure::new(
        Code::NotFound,
        format!("there is no cluster {name:?} {place}; `butlerctl cluster list` shows what there is"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects(teams: &[&str]) -> Vec<DynamicObject> {
        teams.iter().map(|team| DynamicObject::new("a", &cluster_resource()).within(team)).collect()
    }

    #[test]
    fn a_name_means_one_cluster() {
        let one = |teams: &[&str], searched: &[&str]| {
            let searched: Vec<String> = searched.iter().map(ToString::to_string).collect();
            only_one("a", objects(teams), &searched)
                .map(|found| found.namespace)
                .map_err(|failure| (failure.code, failure.message))
        };
        assert_eq!(one(&["team-a"], &[]), Ok("team-a".to_owned()));
        assert_eq!(
            one(&["team-a", "team-b"], &[]),
            Err((Code::Usage, "2 clusters are called \"a\": name the team with -n, one of team-a, team-b".to_owned()))
        );
        for (searched, place) in [
            (&[][..], "among those you may see"),
            (&["team-a"], "in team team-a"),
            (&["team-a", "team-b"], "in the teams team-a, team-b"),
        ] {
            let told = format!("there is no cluster \"a\" {place}; `butlerctl cluster list` shows what there is");
            assert_eq!(one(&[], searched), Err((Code::NotFound, told)));
        }
    }

    #[test]
    fn the_team_may_be_written_before_the_name() {
        for (text, team, expected) in [
            ("a", None, Some((None, "a"))),
            ("a", Some("t"), Some((Some("t"), "a"))),
            ("t/a", None, Some((Some("t"), "a"))),
            ("t/a", Some("t"), Some((Some("t"), "a"))),
            ("t/a", Some("u"), None),
        ] {
            assert_eq!(split(text, team).ok(), expected, "{text} {team:?}");
        }
    }
}
