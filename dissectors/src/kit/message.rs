//! The kinds of messages that a protocol has, each with its fields.

use crate::kit::{Description, Field, Kind, Node, Place, Purpose, Role, TreeView};

/// One kind of message.
pub struct Message {
    /// The name in scripts.
    pub name: &'static str,
    /// The name in the specification.
    pub label: &'static str,
    /// The role of its sender.
    pub speaker: Role,
    /// What it is for.
    pub purpose: Purpose,
    /// The one-line summary: `{field}` is a field's value, `{field=}` its meaning, `{field#}` the
    /// length of a list, `{field# server}` the same with its noun (`property/properties` for an
    /// irregular plural), `{field?text}` the text if a flag is set, `{field!text}` if it is not. The part in
    /// `[ ]` is left out if a field in it is absent, or its flag is not as its text needs.
    pub summary: &'static str,
    /// The fields that scripts see in it, in order: those in `fields`, and those next to it.
    pub fields: &'static [&'static Field],
    /// Which fields describe the server that sends it, if it does.
    pub describes: Option<&'static Description>,
}

impl Message {
    /// Calls `see` with every listed field, outer ones first, and its path within the message:
    /// `players.name`. A `*` in it stands for a key from the wire.
    pub fn each_field(&self, mut see: impl FnMut(&str, &'static Field)) {
        fn walk(
            fields: &[&'static Field],
            path: &mut String,
            see: &mut dyn FnMut(&str, &'static Field),
        ) {
            for field in fields {
                let outer = path.len();
                if outer > 0 {
                    path.push('.');
                }
                // The key of a pair comes from the wire.
                path.push_str(if field.kind == Kind::Pair { "*" } else { field.name });
                see(path, field);
                match field.kind {
                    // The elements of a list have no name.
                    Kind::List => field.children.iter().for_each(|e| walk(e.children, path, see)),
                    _ => walk(field.children, path, see),
                }
                path.truncate(outer);
            }
        }
        walk(self.fields, &mut String::new(), &mut see);
    }

    /// The path of a field in `tree` that scripts see but that the message does not list. Tests
    /// check that there is none.
    pub fn unlisted(&self, tree: &TreeView<'_>) -> Option<String> {
        fn walk(
            tree: &TreeView<'_>,
            at: Option<usize>,
            listed: &[&'static Field],
        ) -> Option<String> {
            let shown = |node: &Node| match at {
                None => node.field.place != Place::Framing,
                Some(_) => node.field.place == Place::Fields,
            };
            tree.children(at).filter(|(_, node)| shown(node)).find_map(|(at, node)| {
                let name = node.field.name;
                if !listed.iter().any(|field| std::ptr::eq(*field, node.field)) {
                    return Some(name.to_owned());
                }
                let has_fields = matches!(node.field.kind, Kind::Group | Kind::List | Kind::Map);
                let below = has_fields.then(|| walk(tree, Some(at), node.field.children));
                below.flatten().map(|path| format!("{name}.{path}"))
            })
        }
        walk(tree, None, self.fields)
    }
}

/// Declares a protocol's messages, each with its speaker, its purpose and the fields that scripts
/// see: a `static` each, and the list `ALL`.
macro_rules! messages {
    (@describes) => { None };
    (@describes $description:ident) => { Some(&super::$description) };
    ($($name:ident = $id:literal, $label:literal, $speaker:ident: $purpose:ident, $summary:literal,
        [$($field:ident),* $(,)?] $(describes $description:ident)?;)+) => {
        $(pub(super) static $name: $crate::kit::Message = $crate::kit::Message {
            name: $id,
            label: $label,
            speaker: $crate::kit::Role::$speaker,
            purpose: $crate::kit::Purpose::$purpose,
            summary: $summary,
            fields: &[$(&super::fields::$field),*],
            describes: $crate::kit::messages!(@describes $($description)?),
        };)+
        pub(super) static ALL: &[&$crate::kit::Message] = &[$(&$name),+];
    };
}
pub(crate) use messages;
