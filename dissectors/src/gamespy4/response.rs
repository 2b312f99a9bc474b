//! Decodes a server information response after its header: variables, then players and teams by
//! columns, in the format of the GameSpy SDK.

use super::fields as f;
use super::packet::{RequestForm, ResponseSummary, decimal};
use super::rules::{self, PacketLayout, Properties};
use crate::kit::{Cut, Field, Read, Reader, Sink, Span, TextPlace};

/// What is known before a response is decoded.
#[derive(Clone, Copy, Default)]
pub(super) struct DecodeContext {
    /// The form of the request.
    pub(super) form: Option<RequestForm>,
    /// It is a whole response, whose rules are checked. A packet of an incomplete one is only
    /// shown.
    pub(super) checks: bool,
    /// Several packets are joined. If some are missing, these may be of several responses.
    pub(super) is_joined: bool,
}

/// Maximum length of a column's name with its zero.
pub(super) const LONGEST_NAME: usize = 64;

/// The length of the name of a player or team column at this place: `player_`, `score_t`.
pub(super) fn column_name(bytes: &[u8]) -> Option<usize> {
    let length = bytes.iter().take(LONGEST_NAME).position(|&byte| byte == 0)?;
    let name = bytes.get(..length)?;
    let named = name.ends_with(b"_") || name.ends_with(b"_t");
    (named && name.iter().all(u8::is_ascii_graphic)).then_some(length)
}

/// Whether a section of players or teams begins here. The GameSpy SDK also sends one without
/// columns: its byte and its end.
pub(super) fn section_begins(bytes: &[u8]) -> bool {
    match bytes {
        [1 | 2, 0, 1 | 2, ..] => true,
        [1 | 2, 0, rest @ ..] => rest.iter().all(|&byte| byte == 0),
        [1 | 2, name @ ..] => column_name(name).is_some(),
        _ => false,
    }
}

/// A response with a split header, from the byte after it on.
pub(super) fn split<S: Sink>(
    r: &mut Reader<'_, S>,
    bytes: &[u8],
    section: u8,
    known: DecodeContext,
    summary: &mut ResponseSummary,
) -> Result<(), Cut> {
    let mut properties = Properties::default();
    let mut layout = PacketLayout::default();
    let mut table = PlayerTable::default();
    let read = sections(r, section, known, &mut properties, &mut layout, &mut table);
    table.rows(bytes, r);
    properties.repeated_column = table.repeated().filter(|_| !known.is_joined);
    let form = match known.form {
        Some(RequestForm::JustCause) => RequestForm::JustCause,
        _ if properties.minecraft => RequestForm::MinecraftFull,
        _ if properties.other_game => RequestForm::Split,
        _ => RequestForm::Ut3,
    };
    finish(r, form, known, &mut properties, &layout, summary);
    read
}

/// Checks the rules about the whole response, and determines its form.
fn finish<S: Sink>(
    r: &mut Reader<'_, S>,
    form: RequestForm,
    known: DecodeContext,
    properties: &mut Properties<'_>,
    layout: &PacketLayout,
    summary: &mut ResponseSummary,
) {
    r.leaf(&f::FORM, 0, form as u64);
    summary.other_game = form != RequestForm::Ut3;
    summary.game_port = properties.game_port;
    if known.checks {
        rules::pairs_complete(layout, r.sink);
        properties.check(layout.is_in_pairs(), r.sink);
    }
}

fn sections<'a, S: Sink>(
    r: &mut Reader<'a, S>,
    section: u8,
    known: DecodeContext,
    properties: &mut Properties<'a>,
    layout: &mut PacketLayout,
    table: &mut PlayerTable<'a>,
) -> Result<(), Cut> {
    if matches!(section, 1 | 2) && column_name(r.peek()).is_some() {
        columns(r, section, layout, table)?;
    } else {
        variables(r, known, properties, layout)?;
        if known.form == Some(RequestForm::JustCause) {
            return just_cause_players(r, layout);
        }
    }
    loop {
        let zeros = zeros(r.peek());
        let after = r.peek().get(zeros..).unwrap_or_default();
        let more = section_begins(after);
        if zeros > 0 {
            let padding = r.bytes(&f::PADDING, zeros);
            layout.quirk(padding.at, "there are zeros between the sections or after the last");
        }
        if !more {
            if !r.is_empty() {
                let at = Span::new(r.at(), r.at() + r.rest());
                layout.fault(at, "what follows the variables is not a section of columns");
            }
            return Ok(());
        }
        let section = r.u8(&f::SECTION)?;
        columns(r, section.value, layout, table)?;
    }
}

fn zeros(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|&&byte| byte == 0).count()
}

/// "This data is then exploded": a variable, a zero, its value, a zero, and so on. An empty name
/// ends the list.
fn variables<'a, S: Sink>(
    r: &mut Reader<'a, S>,
    known: DecodeContext,
    properties: &mut Properties<'a>,
    layout: &mut PacketLayout,
) -> Result<(), Cut> {
    r.open(&f::PROPERTIES);
    while !r.is_empty() && r.peek().first() != Some(&0) && !section_begins(r.peek()) {
        r.open(&f::PROPERTY);
        let key = terminated(r, &f::KEY, layout)?;
        let value = value(r, key, layout)?;
        r.close();
        if let Some(value) = value {
            properties.add(key, value, known.checks, r.sink);
        }
    }
    r.close();
    match r.peek().first() {
        Some(0) => {
            r.bytes(&f::PROPERTIES_END, 1);
        }
        Some(_) => layout.quirk(r.here(), "no empty name ends the variables"),
        None => {}
    }
    Ok(())
}

/// A text that must be zero-terminated.
fn terminated<'a, S: Sink>(
    r: &mut Reader<'a, S>,
    field: &'static Field,
    layout: &mut PacketLayout,
) -> Result<Read<&'a [u8]>, Cut> {
    let start = r.at();
    let text = r.text(field);
    if text.is_err() {
        layout.fault(r.since(start), "a text has no terminating zero");
    }
    text
}

/// The value of a variable. It is missing if another variable's name is in its place: UT3 leaves
/// out some values, and a zero inside a Minecraft server's name shifts all following ones.
fn value<'a, S: Sink>(
    r: &mut Reader<'a, S>,
    key: Read<&'a [u8]>,
    layout: &mut PacketLayout,
) -> Result<Option<Read<&'a [u8]>>, Cut> {
    if r.is_empty() || rules::name_in_place_of_value(r.peek()) {
        layout.fault(key.at, "a variable has no value");
        r.leaf(&f::VALUE, 0, TextPlace::at(r.here()).value());
        return Ok(None);
    }
    let left = r.peek();
    let list = matches!(key.value, b"p1073741828" | b"p1073741829");
    let length = left.iter().position(|&byte| byte == 0);
    match length.and_then(|length| left.get(..length)) {
        Some(text) if list && text.contains(&f::MUTATOR_SEPARATOR) => Ok(Some(mutators(r, text))),
        _ => terminated(r, &f::VALUE, layout).map(Some),
    }
}

/// "List of Custom Mutators [seperated by 0x1c (end of file)]".
fn mutators<'a, S: Sink>(r: &mut Reader<'a, S>, text: &'a [u8]) -> Read<&'a [u8]> {
    let start = r.at();
    r.open_text(&f::VALUE, text.len());
    for name in text.split(|&byte| byte == f::MUTATOR_SEPARATOR) {
        let place = Span::new(r.at(), r.at() + name.len());
        // With the separator, or the terminating zero, after it.
        r.leaf(&f::MUTATOR, name.len() + 1, TextPlace::at(place).value());
    }
    r.close();
    Read { value: text, at: r.since(start) }
}

/// A column: the positions of its name and first value, the row of that value, and the number of
/// values left.
#[derive(Clone, Copy, Default)]
struct PlayerColumn<'a> {
    section: u8,
    name: Read<&'a [u8]>,
    at: usize,
    first: u32,
    count: u32,
}

/// The columns of a response, to be read by rows. Columns beyond the maximum are shown by columns
/// only.
#[derive(Default)]
struct PlayerTable<'a> {
    columns: [PlayerColumn<'a>; 24],
    used: usize,
}

impl<'a> PlayerTable<'a> {
    fn add(&mut self, column: PlayerColumn<'a>) {
        if let Some(free) = self.columns.get_mut(self.used) {
            *free = column;
            self.used += 1;
        }
    }

    /// The first column that gives a row a value which an earlier one has given it. The rest of a column in another packet
    /// goes on with other rows.
    fn repeated(&self) -> Option<Read<&'a [u8]>> {
        let used = self.columns.get(..self.used)?;
        let collides = |one: &PlayerColumn<'_>, other: &PlayerColumn<'_>| {
            (one.section, one.name.value) == (other.section, other.name.value)
                && one.first < other.first + other.count
                && other.first < one.first + one.count
        };
        let is_again = |(at, column): &(usize, &PlayerColumn<'_>)| {
            used.iter().take(*at).any(|before| collides(before, column))
        };
        used.iter().enumerate().find(is_again).map(|(_, column)| column.name)
    }

    /// Players, then teams, each with the values from the columns. Rows have no bytes of their own:
    /// the columns have them.
    fn rows<S: Sink>(&mut self, bytes: &[u8], r: &mut Reader<'_, S>) {
        let kinds = [(1, &f::PLAYERS, &f::PLAYER), (2, &f::TEAMS, &f::TEAM)];
        for (section, list, row) in kinds {
            let used = self.columns.get_mut(..self.used).unwrap_or_default();
            let own = used.iter().filter(|column| column.section == section);
            let Some(rows) = own.map(|column| column.first + column.count).max() else { continue };
            r.open(list);
            for number in 0..rows {
                r.open(row);
                for column in used.iter_mut().filter(|column| column.section == section) {
                    if (column.first..column.first + column.count).contains(&number) {
                        cell(column, bytes, r);
                    }
                }
                r.close();
            }
            r.close();
            if section == 1 {
                r.leaf(&f::NUM_PLAYERS, 0, rows.into());
            }
        }
    }
}

/// Reports the next value of a column.
fn cell<S: Sink>(column: &mut PlayerColumn<'_>, bytes: &[u8], r: &mut Reader<'_, S>) {
    let left = bytes.get(column.at..).unwrap_or_default();
    let length = left.iter().position(|&byte| byte == 0).unwrap_or(left.len());
    let value = Span::new(column.at, column.at + length);
    column.at += length + 1;
    r.open(&f::ROW_VALUE);
    r.leaf(&f::KEY, 0, TextPlace::at(column.name.at).value());
    r.leaf(&f::VALUE, 0, TextPlace::at(value).value());
    r.close();
}

/// A section of players or teams: for each column its name, the row of its first value, and the
/// values; an empty value ends a column, an empty name the section.
fn columns<'a, S: Sink>(
    r: &mut Reader<'a, S>,
    section: u8,
    layout: &mut PacketLayout,
    table: &mut PlayerTable<'a>,
) -> Result<(), Cut> {
    r.open(&f::COLUMNS);
    while !r.is_empty() && r.peek().first() != Some(&0) && !section_begins(r.peek()) {
        r.open(&f::COLUMN);
        let start = r.at();
        let name = terminated(r, &f::COLUMN_NAME, layout)?;
        if r.is_empty() {
            layout.fault(name.at, "a column has a name and nothing else");
            return Err(Cut::Reported);
        }
        let first = r.u8(&f::COLUMN_FIRST)?;
        let name = Read { at: Span::new(start, start + name.value.len()), ..name };
        let (first, at) = (u32::from(first.value), r.at());
        let mut column = PlayerColumn { section, name, at, first, count: 0 };
        let read = values(r, layout, &mut column.count);
        table.add(column);
        read?;
        r.close();
    }
    r.close();
    if r.peek().first() == Some(&0) {
        r.bytes(&f::SECTION_END, 1);
    }
    Ok(())
}

/// A run of zeros at the place of a value: this many empty values, then the end of the column or
/// another value.
pub(super) struct ZeroRun {
    pub(super) empty: usize,
    pub(super) ends: bool,
}

/// UT3 gives bots empty names, so that a zero may be an empty value or the end of a column. The
/// bytes after the zeros decide.
pub(super) fn run(bytes: &[u8]) -> ZeroRun {
    let zeros = zeros(bytes);
    let after = bytes.get(zeros..).unwrap_or_default();
    if after.is_empty() || section_begins(after) {
        return ZeroRun { empty: zeros.saturating_sub(2), ends: true };
    }
    match column_name(after) {
        Some(_) => ZeroRun { empty: zeros.saturating_sub(1), ends: true },
        None => ZeroRun { empty: zeros, ends: false },
    }
}

fn values<S: Sink>(
    r: &mut Reader<'_, S>,
    layout: &mut PacketLayout,
    count: &mut u32,
) -> Result<(), Cut> {
    while !r.is_empty() && !section_begins(r.peek()) {
        if r.peek().first() != Some(&0) {
            terminated(r, &f::COLUMN_VALUE, layout)?;
            *count += 1;
            continue;
        }
        let run = run(r.peek());
        for _ in 0..run.empty {
            r.text(&f::COLUMN_VALUE)?;
            *count += 1;
        }
        if run.ends {
            r.bytes(&f::COLUMN_END, 1);
            return Ok(());
        }
    }
    layout.fault(r.here(), "nothing ends a column");
    Ok(())
}

/// Just Cause 2 Multiplayer: a count, then name, Steam ID and ping of each player.
fn just_cause_players<S: Sink>(
    r: &mut Reader<'_, S>,
    layout: &mut PacketLayout,
) -> Result<(), Cut> {
    if r.is_empty() {
        return Ok(());
    }
    r.u16_be(&f::COUNT)?;
    r.open(&f::PLAYERS);
    while !r.is_empty() {
        r.open(&f::PLAYER);
        terminated(r, &f::PLAYER_NAME, layout)?;
        terminated(r, &f::STEAM_ID, layout)?;
        r.u16_be(&f::PING)?;
        r.close();
    }
    r.close();
    Ok(())
}

/// A response without a split header: Minecraft's basic one, or the GameSpy SDK's.
pub(super) fn unsplit<'a, S: Sink>(
    r: &mut Reader<'a, S>,
    known: DecodeContext,
    summary: &mut ResponseSummary,
) -> Result<(), Cut> {
    if known.checks && matches!(known.form, Some(RequestForm::Ut3 | RequestForm::MinecraftFull)) {
        rules::no_splitnum(r.here(), r.sink);
    }
    let mut properties = Properties::default();
    let mut layout = PacketLayout::default();
    let basic = known.form == Some(RequestForm::MinecraftBasic) || is_basic(r.peek());
    let form = if basic { RequestForm::MinecraftBasic } else { RequestForm::Unsplit };
    let read = if basic {
        basic_list(r, &mut properties, known, &mut layout)
    } else {
        unsplit_sections(r, known, &mut properties, &mut layout)
    };
    finish(r, form, known, &mut properties, &layout, summary);
    read
}

/// Whether this is Minecraft's plain list: five texts (two of them numbers), a port and a text.
pub(super) fn is_basic(bytes: &[u8]) -> bool {
    let mut texts = bytes.split(|&byte| byte == 0);
    let numbers = texts.nth(3).zip(texts.next());
    let Some((players, most)) = numbers else { return false };
    let ends = bytes.iter().enumerate().filter(|&(_, &byte)| byte == 0);
    let rest = ends.map(|(at, _)| at + 3).nth(4).and_then(|at| bytes.get(at..));
    decimal(players).is_some()
        && decimal(most).is_some()
        && rest.is_some_and(|rest| {
            rest.iter().position(|&byte| byte == 0) == rest.len().checked_sub(1)
        })
}

/// Minecraft's plain list, its values without their names.
fn basic_list<'a, S: Sink>(
    r: &mut Reader<'a, S>,
    properties: &mut Properties<'a>,
    known: DecodeContext,
    layout: &mut PacketLayout,
) -> Result<(), Cut> {
    const NAMES: [&[u8]; 5] = [b"hostname", b"gametype", b"map", b"numplayers", b"maxplayers"];
    r.open(&f::PROPERTIES);
    for key in NAMES {
        open_named(r, key);
        let value = terminated(r, &f::VALUE, layout)?;
        r.close();
        properties.add(Read { value: key, at: r.here() }, value, known.checks, r.sink);
    }
    open_named(r, b"hostport");
    let port = match *r.peek() {
        [low, high, ..] => u16::from_le_bytes([low, high]),
        _ => {
            layout.fault(r.here(), "the list ends before the port");
            return Err(Cut::Reported);
        }
    };
    let here = r.here();
    r.sink.leaf_text(&f::VALUE, here, port.to_string().as_bytes());
    r.u16_le(&f::PORT_BYTES)?;
    r.close();
    open_named(r, b"hostip");
    terminated(r, &f::VALUE, layout)?;
    r.close();
    r.close();
    Ok(())
}

/// A variable whose name is not in the packet.
fn open_named<S: Sink>(r: &mut Reader<'_, S>, key: &[u8]) {
    r.open(&f::PROPERTY);
    let here = r.here();
    r.sink.leaf_text(&f::KEY, here, key);
}

/// A response of the GameSpy SDK without a header: variables, then rows of players and of teams,
/// each with a count.
fn unsplit_sections<'a, S: Sink>(
    r: &mut Reader<'a, S>,
    known: DecodeContext,
    properties: &mut Properties<'a>,
    layout: &mut PacketLayout,
) -> Result<(), Cut> {
    if known.form == Some(RequestForm::Other) {
        r.bytes(&f::VALUES, r.rest());
        return Ok(());
    }
    variables(r, known, properties, layout)?;
    for (list, row) in [(&f::PLAYERS, &f::PLAYER), (&f::TEAMS, &f::TEAM)] {
        if !r.is_empty() {
            counted_rows(r, list, row, layout)?;
        }
    }
    if !r.is_empty() {
        let at = Span::new(r.at(), r.at() + r.rest());
        layout.fault(at, "bytes follow the teams");
    }
    Ok(())
}

/// A count, the columns' names, an empty one, and the values row by row.
fn counted_rows<S: Sink>(
    r: &mut Reader<'_, S>,
    list: &'static Field,
    row: &'static Field,
    layout: &mut PacketLayout,
) -> Result<(), Cut> {
    let Ok(count) = r.u16_be(&f::COUNT) else {
        layout.fault(r.here(), "the answer ends in a count");
        return Err(Cut::Short);
    };
    let mut names = [Span::default(); 32];
    let mut used = 0;
    r.open(&f::COLUMNS);
    while !matches!(r.peek().first(), None | Some(0)) {
        let start = r.at();
        let name = terminated(r, &f::COLUMN_NAME, layout)?;
        let Some(free) = names.get_mut(used) else {
            layout.fault(name.at, "more than 32 columns");
            return Err(Cut::Reported);
        };
        *free = Span::new(start, start + name.value.len());
        used += 1;
    }
    r.close();
    if !r.is_empty() {
        r.bytes(&f::NAMES_END, 1);
    }
    let names = names.get(..used).unwrap_or_default();
    if names.is_empty() || count.value == 0 {
        return Ok(());
    }
    r.open(list);
    for _ in 0..count.value {
        r.open(row);
        for &name in names {
            r.open(&f::ROW_VALUE);
            r.leaf(&f::KEY, 0, TextPlace::at(name).value());
            terminated(r, &f::VALUE, layout)?;
            r.close();
        }
        r.close();
    }
    r.close();
    Ok(())
}
