// The embedded data of the page, and data that is derived from it once.

const embedded = JSON.parse(document.getElementById("report").textContent);

// Characters to escape: those that are invisible, or that change the order of others.
const hidden = new RegExp("[" + embedded.hidden + "]", "gu");

// A text from the wire, with such characters escaped.
const visible = (text) =>
  String(text).replace(hidden, (c) => "\\u{" + c.codePointAt(0).toString(16).toUpperCase() + "}");

const grouped = (number) => String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, ",");
const counted = (count, noun) => grouped(count) + " " + noun + (Math.round(count) === 1 ? "" : "s");

// The number of some messages; of a sample, each represents several.
const sumOf = (messages) => messages.reduce((sum, m) => sum + (m.icmp ? 0 : m.weight), 0);

// What is before a number of messages that is estimated.
const about = (capture) => (capture.isSampled ? "about " : "");

const isOpen = (finding) => finding.verdict === "inconclusive";

// The rule and the severity of a finding: what was broken, and what is merely noted, are apart.
const kindOf = ({ rule, severity }) => rule + " " + severity;

// Adds a value to those of a key.
function collect(map, key, value) {
  if (map.has(key)) map.get(key).push(value);
  else map.set(key, [value]);
}

// A duration with a unit: 20 ms, 1.5 s.
function span(seconds) {
  if (seconds < 0.9995e-3) return +(seconds * 1e6).toFixed(0) + " \u00B5s";
  if (seconds < 1) return +(seconds * 1e3).toFixed(seconds < 0.01 ? 1 : 0) + " ms";
  if (seconds < 120) return +seconds.toFixed(seconds < 10 ? 1 : 0) + " s";
  if (seconds < 7200) return +(seconds / 60).toFixed(1) + " min";
  return +(seconds / 3600).toFixed(1) + " h";
}

// The sort key of a party: its address without its port.
const host = (end) => end.replace(/^\[(.*)\]:\d+$|^([\d.]+):\d+$/, "$1$2");

// A time in seconds since an integral second, to keep its precision.
const whole = (time) => Date.parse(time.slice(0, 19) + "Z") / 1000;
const fraction = (time) => Number("0" + time.slice(19, -1));

// The messages and findings of a capture, prepared when it is first shown.
function prepare(capture, nth) {
  const { sample, check } = capture;
  const messages = sample.messages;
  const times = messages.map((m) => m.time).concat(check.findings.filter((f) => f.frames.length).map((f) => f.time));
  capture.base = times.length ? times.map(whole).reduce((a, b) => Math.min(a, b)) : 0;
  const since = (time) => whole(time) - capture.base + fraction(time);
  capture.byFrame = new Map();
  messages.forEach((m, index) => {
    m.index = index;
    m.at = since(m.time);
    m.path = m.icmp ? "ICMP" : m.protocol + "." + m.message;
    m.findings = [];
    // Copies count nowhere.
    m.weight = m.copy_of !== undefined ? 0 : m.certain || m.icmp ? 1 : sample.weight;
    m.hosts = [host(m.src), host(m.dst)];
    if (!m.icmp) collect(capture.byFrame, m.frame, m);
  });
  countKinds(capture);
  for (const finding of check.findings) {
    const frame = finding.frames[finding.frames.length - 1];
    const of = (capture.byFrame.get(frame) || []).filter((m) => !finding.flow || m.flow === finding.flow);
    finding.of = of.find((m) => m.message === finding.about) || of[0];
    finding.at = frame ? since(finding.time) : undefined;
    finding.of?.findings.push(finding);
  }
  capture.held = messages.filter((m) => !m.icmp && m.copy_of === undefined).length;
  capture.isSampled = capture.held < sample.seen;
  // Whether findings are missing among chosen messages: the page has not all messages, or not all findings.
  capture.isPartial = capture.isSampled || [...capture.kinds.values()].some((it) => it.sure > it.listed || it.open > it.listedOpen);
  for (const m of messages) {
    m.rules = m.findings.map((f) => f.rule);
    m.text = [m.path, m.src, m.dst, m.summary, m.frame, ...m.findings.map((f) => f.rule + " " + f.slug + " " + f.message)]
      .join("\n").toLowerCase();
  }
  capture.ends = messages.length ? [messages[0].at, messages[0].at] : [0, 0];
  for (const m of messages) capture.ends = [Math.min(capture.ends[0], m.at), Math.max(capture.ends[1], m.at)];
  capture.nth = nth;
  return capture;
}

// How many findings of each rule and severity the check counted, by party, and how many of them the page has.
function countKinds(capture) {
  capture.kinds = new Map();
  const kind = (key) => {
    if (!capture.kinds.has(key)) capture.kinds.set(key, { sure: 0, open: 0, listed: 0, listedOpen: 0, parties: [], all: 0 });
    return capture.kinds.get(key);
  };
  for (const group of capture.groups) Object.assign(kind(kindOf(group)), { sure: group.count, parties: group.parties, all: group.all });
  for (const { code, severity, inconclusive } of capture.check.rules) {
    if (inconclusive) kind(kindOf({ rule: code, severity })).open = inconclusive;
  }
  for (const finding of capture.check.findings) kind(kindOf(finding))[isOpen(finding) ? "listedOpen" : "listed"] += 1;
}

// The fields and bytes of a message as JSON.
function line(capture, message) {
  if (!capture.lines) capture.lines = document.getElementById("details-" + capture.nth).textContent.split("\n");
  return capture.lines[message.index] || "null";
}

// The same, parsed only when they are shown.
const details = (capture, message) => JSON.parse(line(capture, message));

// The values and meanings of all fields of a message in lower case, taken from the JSON when they are first searched.
function values(capture, message) {
  if (message.values === undefined) {
    const found = line(capture, message).match(/"(?:value|meaning)":(?:"(?:[^"\\]|\\.)*"|[\d.-]+)/g) || [];
    message.values = found.map((it) => it.slice(it.indexOf(":") + 1)).join("\n").toLowerCase();
  }
  return message.values;
}

// A time of the capture as text, in UTC.
function clock(capture, seconds, digits = 3) {
  let [rest, base] = [Math.floor(seconds), capture.base];
  let part = Math.round((seconds - rest) * 10 ** digits);
  if (part === 10 ** digits) [rest, part] = [rest + 1, 0];
  const text = new Date((base + rest) * 1000).toISOString().slice(11, 19);
  return digits ? text + "." + String(part).padStart(digits, "0") : text;
}

const day = (capture, seconds) => new Date((capture.base + Math.floor(seconds)) * 1000).toISOString().slice(0, 10);

// A percentile of sorted pairs of value and weight, by nearest rank.
function percentile(sorted, percent) {
  const all = sorted.reduce((sum, [, weight]) => sum + weight, 0);
  let seen = 0;
  for (const [value, weight] of sorted) {
    seen += weight;
    if (seen * 100 >= all * percent - 1e-9) return value;
  }
  return undefined;
}
