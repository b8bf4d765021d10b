//! Tenants in a store: made, measured, removed.

use crate::{
    Client, Error, ROOT, Tenant,
    plan::{self, Seen, Step},
};

/// Keys that are deleted in one go: a moment's work for etcd, which does nothing else meanwhile.
const BATCH: u32 = 1000;

/// Keys that are measured in one go, unless their values are large: some megabytes of usual objects.
const PAGE: u32 = 500;

/// The tenants of a store, managed as root. Whatever is interrupted is finished by doing it again.
#[derive(Clone)]
pub struct Tenancy {
    client: Client,
}

/// What a tenant holds now. etcd also keeps older versions until they are compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Number of keys.
    pub keys: u64,
    /// Length of all keys and values.
    pub bytes: u64,
}

impl Tenancy {
    /// Manages the store that `client` reaches, which must be root: only root may, and only root can never lock itself
    /// out by switching authentication on.
    pub fn new(client: Client) -> Result<Self, Error> {
        if client.user() == ROOT {
            return Ok(Self { client });
        }
        Err(Error::Invalid(format!(
            "the client certificate for etcd is of {:?}: tenants are managed with one whose common name is {ROOT:?}",
            client.user()
        )))
    }

    /// Switches authentication on, with root as the user that may do everything. A store where it is on already is left
    /// alone; one with another root refuses this.
    pub async fn bootstrap_auth(&self) -> Result<(), Error> {
        if self.client.auth_enabled().await? {
            return Ok(());
        }
        unless_exists(self.client.add_user(ROOT).await)?;
        self.client.grant_role(ROOT, ROOT).await?;
        self.client.enable_auth().await
    }

    /// Makes the tenant, or puts it right: its user has its role alone, and that permits its own keys alone. Two calls
    /// when all is right already.
    pub async fn ensure(&self, tenant: &Tenant) -> Result<(), Error> {
        let seen = self.observe(tenant).await?;
        for step in plan::ensure(tenant, &seen) {
            self.act(tenant, step).await?;
        }
        Ok(())
    }

    /// Removes the tenant with all its keys, and makes sure that nothing is left.
    pub async fn remove(&self, tenant: &Tenant) -> Result<(), Error> {
        let seen = self.observe(tenant).await?;
        for step in plan::remove(&seen) {
            self.act(tenant, step).await?;
        }
        if self.exists(tenant).await? {
            return Err(Error::Other(format!(
                "{} or keys below {} came back while they were removed: stop whoever makes them, then try again",
                tenant.user(),
                tenant.prefix()
            )));
        }
        Ok(())
    }

    /// Whether anything of the tenant is there: user, role or a key.
    pub async fn exists(&self, tenant: &Tenant) -> Result<bool, Error> {
        Ok(self.observe(tenant).await? != Seen::default() || self.client.count(&tenant.keys()).await? > 0)
    }

    /// The users of all tenants, also of those whose removal was never finished.
    pub async fn users(&self) -> Result<Vec<String>, Error> {
        let mut users = self.client.users().await?;
        users.retain(|user| user != ROOT);
        Ok(users)
    }

    /// Measures the tenant's keys and values, page by page. What changes meanwhile may or may not be counted.
    pub async fn usage(&self, tenant: &Tenant) -> Result<Usage, Error> {
        let mut usage = Usage::default();
        let mut rest = tenant.keys();
        let mut limit = PAGE;
        loop {
            let page = match self.client.page(&rest, limit, false).await {
                Err(Error::TooLarge(_)) if limit > 1 => {
                    limit /= 2;
                    continue;
                }
                page => page?,
            };
            usage.keys += page.entries.len() as u64;
            usage.bytes += page.entries.iter().map(|(key, value)| (key.len() + value.len()) as u64).sum::<u64>();
            match page.entries.last() {
                Some((key, _)) if page.more => rest = rest.after(key),
                _ => return Ok(usage),
            }
        }
    }

    async fn observe(&self, tenant: &Tenant) -> Result<Seen, Error> {
        let role = self.client.permissions_of(tenant.user()).await?;
        Ok(Seen { role, user: self.client.roles_of(tenant.user()).await? })
    }

    async fn act(&self, tenant: &Tenant, step: Step) -> Result<(), Error> {
        let (client, user, role) = (&self.client, tenant.user(), tenant.user());
        match step {
            Step::AddRole => unless_exists(client.add_role(role).await),
            Step::RevokePermission(range) => unless_missing(client.revoke_permission(role, &range).await),
            Step::GrantPermission => client.grant_permission(role, &tenant.keys()).await,
            Step::AddUser => unless_exists(client.add_user(user).await),
            Step::RevokeRole(other) => unless_missing(client.revoke_role(user, &other).await),
            Step::GrantRole => client.grant_role(user, role).await,
            Step::DeleteKeys => self.delete_keys(tenant).await,
            Step::DeleteRole => unless_missing(client.delete_role(role).await),
            Step::DeleteUser => unless_missing(client.delete_user(user).await),
        }
    }

    async fn delete_keys(&self, tenant: &Tenant) -> Result<(), Error> {
        let keys = tenant.keys();
        loop {
            let page = self.client.page(&keys, BATCH, true).await?;
            let Some((last, _)) = page.entries.last() else { return Ok(()) };
            self.client.delete(&keys.through(last)).await?;
        }
    }
}

fn unless_exists(done: Result<(), Error>) -> Result<(), Error> {
    if let Err(Error::Exists(_)) = done { Ok(()) } else { done }
}

fn unless_missing(done: Result<(), Error>) -> Result<(), Error> {
    if let Err(Error::Missing(_)) = done { Ok(()) } else { done }
}
