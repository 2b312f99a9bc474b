//! What clients and masters say to each other about lists.

use std::net::SocketAddr;

use dissectors::Id;

use crate::diagnose::{Diagnosis, masters};
use crate::session::{MessageEvent, Value};
use crate::summary::described;

impl Diagnosis {
    /// A client's request to a master for a list, or for its next page.
    pub(in crate::diagnose) fn list_asked(&mut self, id: Id, event: &MessageEvent<'_>) {
        if !described::begins_list(event) {
            return;
        }
        let (payload, masters) = (event.payload(), masters(id));
        let is_all = |(path, all): &(&str, &str)| {
            event.field(path).is_none_or(|value| match value {
                Value::Name(_) => false,
                value => value.to_string() == *all,
            })
        };
        let fields = masters.map_or(&[][..], |it| it.narrowed);
        let narrowed = (!fields.iter().all(is_all)).then(|| {
            let value = |(path, all): &(&str, &str)| match event.field(path) {
                Some(Value::Text(text)) => text.iter().copied().take(512).collect(),
                Some(value) => value.to_string().into_bytes(),
                None => all.as_bytes().to_vec(),
            };
            fields.iter().map(value).collect()
        });
        let game = masters.and_then(|it| it.game).and_then(|path| event.field(path));
        let game = match game {
            Some(Value::Text(game)) => game.iter().copied().take(64).collect(),
            _ => Vec::new(),
        };
        let (client, master) = (payload.from, payload.to);
        self.lists.asked(client, master, payload.frame, payload.time, narrowed, id, game);
    }

    /// A master lists servers.
    pub(in crate::diagnose) fn list(&mut self, event: &MessageEvent<'_>) -> Option<SocketAddr> {
        let payload = event.payload();
        let (client, master) = (payload.to, payload.from);
        let id = event.context().protocol?;
        if described::is_enciphered(event) {
            self.lists.enciphered(id, client, master, payload.frame);
            return None;
        }
        let ends = described::ends_list(event);
        let servers = described::each_listed(event);
        self.lists.listed(id, client, master, payload.frame, ends, servers);
        None
    }
}
