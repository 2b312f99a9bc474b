// Tables of servers, masters, clients and conversations, with sorting and search.

const ROWS = 25;

const percent = (some, all) => (all ? Math.floor((1000 * some) / all) / 10 : undefined);

// The format of values of each kind; others are texts.
const FORMATS = {
  count: grouped, number: String, bytes: (value) => grouped(value) + " B", span, rate: (value) => value.toFixed(1) + "/s",
  share: (value) => value.toFixed(1) + " %",
};

// A row's value in a column: a share, where the column is one.
const valueOf = (row, { name, of }) => (of ? percent(row[name], row[of]) : row[name]) ?? undefined;

// The search text of each table, and its page.
const finding = {}, pageOf = {};

// The exchanges in some messages, counted as in the summary: requests with their challenges as one.
function fared(messages) {
  const asked = messages.filter((m) => m.answered !== undefined);
  const times = messages.filter((m) => m.response_time !== undefined && m.copy_of === undefined)
    .map((m) => [m.response_time, m.weight]).sort((a, b) => a[0] - b[0]);
  const sum = (of) => of.reduce((all, m) => all + m.weight, 0);
  const [exchanges, answered] = [sum(asked), sum(asked.filter((m) => m.answered))];
  return {
    exchanges, requests: exchanges, answered,
    response_time_p50: percentile(times, 50), response_time_p95: percentile(times, 95),
    response_time_max: times.length ? times[times.length - 1][0] : undefined,
    findings: messages.flatMap((m) => m.findings).filter((f) => f.verdict !== "inconclusive").length,
  };
}

const playersOf = (row) => (row.players === null && row.max_players === null ? undefined : `${row.players ?? "?"}/${row.max_players ?? "?"}`);
const kindsOf = (kinds) => Object.entries(kinds).map(([name, count]) => `${name} ${grouped(count)}`).join(", ");

// The rows of the summary for the messages: with the numbers of the summary, or with filters those of the messages.
function rowsOf(table, key, capture, messages) {
  const ends = new Map();
  if (isNarrowed()) {
    for (const m of messages) {
      for (const end of new Set([m.src, m.dst, ...m.hosts])) collect(ends, end, m);
    }
  }
  return capture.summary[table].flatMap((row) => {
    const shown = { ...row, players: playersOf(row), kinds: row.kinds && kindsOf(row.kinds), libraries: row.libraries?.join(", ") };
    if (!isNarrowed()) return [shown];
    const own = ends.get(row[key]);
    if (!own) return [];
    const sent = own.filter((m) => m.src === row[key] || m.hosts[0] === row[key]);
    const kinds = {};
    for (const m of sent) if (m.speaker === "client") kinds[m.path] = (kinds[m.path] || 0) + m.weight;
    const numbers = {
      ...fared(own), sent: Object.values(kinds).reduce((a, b) => a + b, 0), kinds: kindsOf(kinds), rate: undefined,
      sockets: new Set(sent.map((m) => m.src)).size, largest: Math.max(0, ...sent.filter((m) => m.speaker !== "client").map((m) => m.length)),
    };
    const has = Object.fromEntries(Object.entries(numbers).filter(([name]) => name in shown));
    return [{ ...shown, ...has }];
  });
}

function flowRows(messages) {
  const flows = new Map();
  for (const m of messages) if (!m.icmp) collect(flows, m.flow, m);
  return [...flows].map(([flow, own]) => {
    const asks = own.find((m) => m.speaker === "client") || own[0];
    const ends = asks.speaker === "client" || asks.speaker === "server" ? [asks.src, asks.dst] : [asks.dst, asks.src];
    return { flow, client: ends[0], server: ends[1], protocol: own[0].protocol, duration: own[own.length - 1].at - own[0].at,
      messages: own.reduce((sum, m) => sum + m.weight, 0), ...fared(own) };
  });
}

function showTables(capture, messages) {
  showTable("servers", rowsOf("servers", "server", capture, messages), capture, ["server", "party"]);
  showTable("masters", rowsOf("masters", "master", capture, messages), capture, ["master", "party"]);
  showTable("clients", rowsOf("clients", "client", capture, messages), capture, ["client", "party"]);
  showTable("flows", flowRows(messages), capture, ["flow", "flow"]);
}

function sorted(table, rows) {
  const chosen = state.sort[table];
  const column = embedded.columns[table].find(({ name }) => name === chosen?.replace(/^-/, ""));
  if (!column) return rows;
  const sign = chosen.startsWith("-") ? -1 : 1;
  const rank = (row) => valueOf(row, column);
  const compare = (a, b) => {
    const [one, other] = [rank(a), rank(b)];
    // Unknown values are last in both directions.
    if (one === undefined || other === undefined) return (one === undefined) - (other === undefined);
    if (typeof one === "number" && typeof other === "number") return sign * (one - other);
    return sign * String(one).localeCompare(String(other), "en", { numeric: true });
  };
  return [...rows].sort(compare);
}

// Numbers are sorted in descending order first, texts in ascending order.
function sort(table, column, isNumber) {
  const now = state.sort[table];
  const next = isNumber ? ["-" + column, column] : [column, "-" + column];
  const then = now === next[0] ? next[1] : now === next[1] ? undefined : next[0];
  const all = { ...state.sort, [table]: then };
  if (!then) delete all[table];
  change({ sort: all });
  by(`sort-${table}-${column}`)?.focus();
}

function showTable(table, rows, capture, [key, set]) {
  by(table + "-section").hidden = !rows.length;
  if (!rows.length) return put(table);
  const isKnown = (value, { rare }) => value !== undefined && value !== "" && !(rare && value === 0);
  const columns = embedded.columns[table].filter((column) => rows.some((row) => isKnown(valueOf(row, column), column)));
  const words = (finding[table] || "").toLowerCase().split(/\s+/).filter(Boolean);
  const text = (row) => columns.map((column) => valueOf(row, column) ?? "").join("\n").toLowerCase();
  const found = sorted(table, words.length ? rows.filter((row) => words.every((word) => text(row).includes(word))) : rows);
  const pages = Math.max(Math.ceil(found.length / ROWS), 1);
  const page = (pageOf[table] = Math.min(pageOf[table] || 0, pages - 1));
  const id = "find-" + table, again = () => showTable(table, rows, capture, [key, set]);
  const search = rows.length > 5 && make("input", {
    type: "search", id, placeholder: "find in " + grouped(rows.length), "aria-label": "Find in this table", value: finding[table] || "",
    oninput: (event) => {
      [finding[table], pageOf[table]] = [event.target.value, 0];
      const at = event.target.selectionStart;
      again();
      by(id).focus();
      by(id).setSelectionRange(at, at);
    },
  });
  const heading = ({ name, heading, kind, meaning }) => {
    const now = state.sort[table], isNumber = kind in FORMATS;
    const order = now === name ? "ascending" : now === "-" + name ? "descending" : undefined;
    return make("th", { scope: "col", "aria-sort": order, class: isNumber ? "number" : undefined, title: meaning },
      button([heading, make("span", { class: "arrow", "aria-hidden": true }, order === "ascending" ? " \u25B2" : order ? " \u25BC" : "")],
        () => sort(table, name, isNumber), { id: `sort-${table}-${name}` }));
  };
  const cell = (row, column) => {
    const { name, kind, of } = column, value = valueOf(row, column), write = FORMATS[kind];
    if (name === key) {
      const chosen = state[set].includes(String(value));
      return make("th", { scope: "row", class: write ? "number" : undefined }, button(String(value), () => toggle(set, String(value)),
        { "aria-pressed": String(chosen), title: chosen ? "Show others, too" : "Show only this" }));
    }
    if (value === undefined || value === "") return make("td", { class: write ? "number" : undefined }, "\u2013");
    const isBad = (name === "findings" && value > 0) || (of && value < 100);
    const classes = [write && "number", isBad && "bad"].filter(Boolean).join(" ");
    return make("td", { class: classes || undefined }, write ? write(value) : wire(shortened(value, 60)));
  };
  put(table, search || "",
    make("div", { class: "scroll", tabindex: 0, role: "region", "aria-labelledby": table + "-title" }, make("table", {},
      make("thead", {}, make("tr", {}, columns.map(heading))),
      make("tbody", {}, found.slice(page * ROWS, (page + 1) * ROWS).map((row) => make("tr", {}, columns.map((column) => cell(row, column))))))),
    capture.summary.cut.includes(table) && make("p", { class: "note" }, "There were more: these are those that there was memory for."),
    make("nav", { class: "pages", "aria-label": "Pages of this table" }, pager(page, pages, "page", (to) => { pageOf[table] = to; again(); })));
}
