//! What comes first on a cluster: dependencies, conflicts, turns. Pure.

use butler_api::butler::addon_install::AddonPhase;
use butler_api::shared::{Blocker, BlockerOwner};
use jiff::Timestamp;

use super::placement::Placement;
use crate::blockers::{blocker, waiting};

/// One addon of a cluster, as the others see it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    /// Name of the addon object.
    pub name: String,
    /// Name of its AddonDefinition, if it is of the catalogue.
    pub addon: Option<String>,
    /// What must be there first.
    pub needs: Vec<Need>,
    /// AddonDefinitions that cannot be on the same cluster.
    pub conflicts: Vec<String>,
    /// Rank among those that do not depend on each other.
    pub order: i32,
    /// Where it is in its life.
    pub phase: Option<AddonPhase>,
    /// Something of it is on the cluster.
    pub is_there: bool,
    /// It waits for people.
    pub is_stuck: bool,
    /// It has run, and waits for workers or starts once more on new ones.
    pub awaits_workers: bool,
    /// It is to go.
    pub is_leaving: bool,
    /// When it was asked for.
    pub since: Option<Timestamp>,
    /// Where it is on the cluster, or goes to.
    pub placement: Option<Placement>,
}

/// Something that must be there first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    /// An addon of this AddonDefinition; where it is missing, whether that is in the way.
    Definition(String, IfMissing),
    /// The addon object of this name.
    Object(String),
}

/// What follows when nobody asked for a dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfMissing {
    /// Somebody has to ask for it.
    Blocked,
    /// The owner of the cluster looks after it.
    LeftToOwner,
}

/// What stands in the way of an addon, seen from the others.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Verdict {
    /// What only a change of what is asked for can put right.
    pub(crate) wrong: Vec<Blocker>,
    /// What has to come first.
    pub(crate) waits: Vec<Blocker>,
}

/// Judges whether it is the turn of `own`.
pub(crate) fn judge(own: &Node, others: &[Node]) -> Verdict {
    let mut verdict = Verdict::default();
    if let Some(cycle) = cycle(own, others) {
        verdict.wrong.push(blocker(
            "DependencyCycle",
            format!("addons wait for each other: {}", cycle.join(" → ")),
            BlockerOwner::User,
            "take one of them out of dependsOn",
        ));
        return verdict;
    }
    verdict.wrong.extend(conflict(own, others));
    // Its end would take away what is put in its place.
    if let Some(other) = others.iter().find(|other| other.is_leaving && other.is_there && shares(own, other)) {
        verdict.waits.push(waiting("ReleaseTaken", format!("{} is removed first", other.name), Vec::new()));
    }
    for need in &own.needs {
        match (need, find(need, others)) {
            (_, Some(other)) if is_up(other) => {}
            (_, Some(other)) => verdict.waits.push(dependency(other)),
            (Need::Definition(_, IfMissing::LeftToOwner), None) => {}
            (Need::Definition(name, IfMissing::Blocked) | Need::Object(name), None) => verdict.waits.push(blocker(
                "DependencyMissing",
                format!("it needs the addon {name}, which nobody has asked for"),
                BlockerOwner::User,
                format!("install it: `butlerctl addon install {name}`"),
            )),
        }
    }
    if verdict.waits.is_empty()
        && let Some(first) = others.iter().find(|other| is_before(other, own, others))
    {
        let evidence = vec![format!("{} has order {}, this one has {}", first.name, first.order, own.order)];
        verdict.waits.push(waiting("NotItsTurn", format!("{} is installed first", first.name), evidence));
    }
    verdict
}

/// Those that need `own` and are there still, so that it cannot go.
pub(crate) fn dependents<'a>(own: &Node, others: &'a [Node]) -> Vec<&'a Node> {
    let needs_it = |other: &&Node| other.needs.iter().any(|need| is_meant(need, own));
    // One that never came to anything needs nothing.
    others.iter().filter(needs_it).filter(|other| other.is_there).collect()
}

/// One that is to go, and is held, is there all the same. Without workers it cannot serve those that need it.
fn is_up(other: &Node) -> bool {
    other.phase == Some(AddonPhase::Installed) && !other.awaits_workers
}

fn dependency(other: &Node) -> Blocker {
    let phase = other.phase.map_or("Pending", AddonPhase::as_str);
    let idle = if other.awaits_workers { ", but its workloads do not run yet" } else { "" };
    let evidence = vec![format!("{} is {phase}{idle}", other.name)];
    waiting("DependencyPending", format!("it comes after {}", other.name), evidence)
}

/// Whether another one is to begin before: a lower rank, nothing in its way, and not begun yet.
fn is_before(other: &Node, own: &Node, others: &[Node]) -> bool {
    let beginning = matches!(other.phase, None | Some(AddonPhase::Pending | AddonPhase::Installing));
    let ready = || {
        other.needs.iter().all(|need| {
            let found = if is_meant(need, own) { Some(own) } else { find(need, others) };
            found.map_or(matches!(need, Need::Definition(_, IfMissing::LeftToOwner)), is_up)
        })
    };
    other.order < own.order && beginning && !other.is_there && !other.is_stuck && !other.is_leaving && ready()
}

fn is_meant(need: &Need, node: &Node) -> bool {
    match need {
        Need::Definition(name, _) => node.addon.as_ref() == Some(name),
        Need::Object(name) => node.name == *name,
    }
}

fn find<'a>(need: &Need, others: &'a [Node]) -> Option<&'a Node> {
    others.iter().find(|other| is_meant(need, other))
}

/// Another one that is in the way: it was there or asked for before.
fn conflict(own: &Node, others: &[Node]) -> Option<Blocker> {
    let earlier = |node: &Node| (!node.is_there, node.since, node.name.clone());
    let fights = |other: &&Node| {
        let names = |of: &Node, other: &Node| other.addon.as_ref().is_some_and(|addon| of.conflicts.contains(addon));
        let same = own.addon.is_some() && own.addon == other.addon;
        let fights = same || shares(own, other) || names(own, other) || names(other, own);
        fights && !other.is_leaving && earlier(other) < earlier(own)
    };
    let other = others.iter().find(fights)?;
    let title = other.addon.clone().unwrap_or_else(|| other.name.clone());
    let message = match own.placement.as_ref().filter(|_| shares(own, other)) {
        _ if own.addon.is_some() && own.addon == other.addon => {
            format!("{title} is installed by {} already", other.name)
        }
        Some(placement) => format!("{placement} is that of {} already", other.name),
        None => format!("it cannot be on a cluster with {title}, which {} asks for", other.name),
    };
    Some(blocker("AddonConflict", message, BlockerOwner::User, format!("remove it, or remove {}", other.name)))
}

/// Whether two are the same release.
fn shares(own: &Node, other: &Node) -> bool {
    own.placement.is_some() && own.placement == other.placement
}

/// A way along dependencies from `own` back to itself.
fn cycle(own: &Node, others: &[Node]) -> Option<Vec<String>> {
    let mut seen = Vec::new();
    let mut path = vec![own.name.clone()];
    walk(own, own, others, &mut seen, &mut path).then_some(path)
}

fn walk(at: &Node, own: &Node, others: &[Node], seen: &mut Vec<String>, path: &mut Vec<String>) -> bool {
    for need in &at.needs {
        if is_meant(need, own) {
            path.push(own.name.clone());
            return true;
        }
        let Some(next) = find(need, others).filter(|next| !seen.contains(&next.name)) else { continue };
        seen.push(next.name.clone());
        path.push(next.name.clone());
        if walk(next, own, others, seen, path) {
            return true;
        }
        path.pop();
    }
    false
}

#[cfg(test)]
mod tests {
    use AddonPhase::{Failed, Installed, Installing, Pending};

    use super::*;

    fn node(name: &str, order: i32, needs: &[&str], phase: Option<AddonPhase>) -> Node {
        Node {
            name: format!("c-{name}"),
            addon: Some(name.to_owned()),
            needs: needs.iter().map(|need| Need::Definition((*need).to_owned(), IfMissing::Blocked)).collect(),
            order,
            phase,
            is_there: matches!(phase, Some(Installed)),
            ..Node::default()
        }
    }

    fn told(own: &Node, others: &[Node]) -> Vec<String> {
        let verdict = judge(own, others);
        let all = verdict.wrong.into_iter().chain(verdict.waits);
        all.map(|blocker| format!("{}: {}", blocker.reason, blocker.message)).collect()
    }

    #[test]
    fn what_comes_first_is_waited_for() {
        let cilium = |phase| node("cilium", 1, &[], phase);
        let metallb = |phase| node("metallb", 2, &["cilium"], phase);
        let traefik = || node("traefik", 5, &["metallb"], None);
        for (own, others, expected) in [
            (cilium(None), vec![metallb(None)], None),
            (metallb(None), vec![cilium(None)], Some("DependencyPending: it comes after c-cilium")),
            (metallb(None), vec![cilium(Some(Installing))], Some("DependencyPending: it comes after c-cilium")),
            (metallb(None), vec![cilium(Some(Installed))], None),
            // Without workers it serves nobody.
            (
                metallb(None),
                vec![Node { awaits_workers: true, ..cilium(Some(Installed)) }],
                Some("DependencyPending: it comes after c-cilium"),
            ),
            (metallb(None), vec![], Some("DependencyMissing: it needs the addon cilium, which nobody has asked for")),
            // A failing one stops those that need it, and nobody else.
            (traefik(), vec![metallb(Some(Failed))], Some("DependencyPending: it comes after c-metallb")),
            (node("cert-manager", 3, &[], None), vec![metallb(Some(Failed))], None),
            // Those that do not need each other begin by their rank.
            (
                node("b", 7, &[], None),
                vec![node("a", 4, &[], Some(Pending))],
                Some("NotItsTurn: c-a is installed first"),
            ),
            (node("b", 7, &[], None), vec![node("a", 4, &["nobody"], Some(Pending))], None),
            (node("b", 7, &[], None), vec![node("a", 4, &["b"], Some(Pending))], None),
            (node("b", 7, &[], None), vec![Node { is_there: true, ..node("a", 4, &[], Some(Installing)) }], None),
            (node("b", 7, &[], None), vec![Node { is_stuck: true, ..node("a", 4, &[], Some(Pending)) }], None),
        ] {
            assert_eq!(told(&own, &others), expected.into_iter().map(str::to_owned).collect::<Vec<_>>(), "{own:?}");
        }
        let idle = Node { awaits_workers: true, ..cilium(Some(Installed)) };
        let evidence = judge(&metallb(None), &[idle]).waits.remove(0).evidence;
        assert_eq!(evidence, ["c-cilium is Installed, but its workloads do not run yet"]);
        let owners = Need::Definition("cilium".into(), IfMissing::LeftToOwner);
        assert!(told(&Node { needs: vec![owners], ..metallb(None) }, &[]).is_empty());
    }

    #[test]
    fn cycles_are_named_whole() {
        let (a, b, c) = (node("a", 0, &["b"], None), node("b", 0, &["c"], None), node("c", 0, &["a"], None));
        let expected = "DependencyCycle: addons wait for each other: c-a → c-b → c-c → c-a";
        assert_eq!(told(&a, &[b.clone(), c.clone()]), [expected]);
        // Who only comes after a cycle is not part of it.
        let after = node("d", 0, &["a"], None);
        assert_eq!(told(&after, &[a, b, c]), ["DependencyPending: it comes after c-a"]);
        let itself = node("e", 0, &["e"], None);
        assert_eq!(told(&itself, &[]), ["DependencyCycle: addons wait for each other: c-e → c-e"]);
    }

    #[test]
    fn of_two_that_cannot_be_together_the_earlier_stays() {
        let at = |second| Timestamp::from_second(second).ok();
        let first = Node { since: at(1), ..node("nginx", 0, &[], None) };
        let second = Node { since: at(2), conflicts: vec!["nginx".into()], ..node("traefik", 0, &[], None) };
        assert!(told(&first, std::slice::from_ref(&second)).is_empty());
        let expected = "AddonConflict: it cannot be on a cluster with nginx, which c-nginx asks for";
        assert_eq!(told(&second, std::slice::from_ref(&first)), [expected]);
        // What is installed is not asked to go by what is not.
        let there = Node { is_there: true, phase: Some(Installed), ..second.clone() };
        assert!(told(&there, std::slice::from_ref(&first)).is_empty());
        assert_eq!(told(&first, &[there]).len(), 1);
        let twin = Node { name: "own-nginx".into(), since: at(3), ..node("nginx", 0, &[], None) };
        assert_eq!(told(&twin, &[first]), ["AddonConflict: nginx is installed by c-nginx already"]);
    }

    #[test]
    fn a_release_is_of_one_addon() {
        let placed = |release: &str| Some(Placement { release: release.into(), namespace: "n".into() });
        let own = Node {
            addon: None,
            placement: placed("x"),
            since: Timestamp::from_second(2).ok(),
            ..node("own", 0, &[], None)
        };
        let other = |release: &str, is_there: bool, is_leaving: bool| {
            let since = Timestamp::from_second(1).ok();
            Node { addon: None, placement: placed(release), since, is_there, is_leaving, ..node("a", 0, &[], None) }
        };
        for (other, expected) in [
            (other("y", true, false), None),
            (other("x", false, false), Some("AddonConflict: release x in namespace n is that of c-a already")),
            (other("x", true, true), Some("ReleaseTaken: c-a is removed first")),
            (other("x", false, true), None),
        ] {
            assert_eq!(told(&own, &[other]), expected.into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn nobody_goes_before_those_that_need_it() {
        let metallb = node("metallb", 0, &[], Some(Installed));
        let traefik = node("traefik", 0, &["metallb"], Some(Installed));
        let pending = node("other", 0, &["metallb"], Some(Pending));
        assert_eq!(dependents(&metallb, &[traefik.clone(), pending]), [&traefik]);
    }
}
