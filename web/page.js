"use strict";
(() => {
// Bytes of captures that fit into the memory of a page, with what is decoded of them.
const MOST = 200e6;
// Characters of an output that are shown; all of them are saved.
const SHOWN = 2e6;
// Bytes of outputs that are kept, so that going back to a view does not read the captures again.
const KEPT = 64e6;
// The name of a file that a command writes, which no capture has.
const OUTPUT = "gamewire output";

// Any command writes the packets that `-Y` selects; this one keeps least beside them.
const PACKETS = { args: ["flows", "-w", OUTPUT], output: OUTPUT, file: "gamewire-packets.pcapng", type: "application/octet-stream" };

// A table that is CSV, and the command that writes it.
const table = (name, ...args) => ({ name, args: [...args, "--format", "csv"], file: `gamewire-${name}.csv`, type: "text/csv" });
const summarized = (name) => table(name, "summary", "--table", name);
const exported = (name) => ({ ...table(name, "export", "--tables", name, "-o", OUTPUT), output: `${OUTPUT}/${name}.csv` });

const VIEWS = [
  { name: "Report", args: ["report", "-o", OUTPUT], output: OUTPUT, file: "gamewire-report.html", type: "text/html" },
  { name: "Diagnose", args: ["diagnose"] },
  { name: "Abuse", args: ["abuse"] },
  { name: "Check", args: ["check"], tables: ["findings", "verdicts"].map(exported) },
  { name: "Summary", args: ["summary"], tables: ["servers", "masters", "clients", "protocols", "ports"].map(summarized) },
  { name: "Flows", args: ["flows"], tables: [table("flows", "flows")] },
  { name: "Ladders", args: ["follow"] },
  { name: "Messages", args: ["dissect"], tables: [table("messages", "dissect")] },
];

const $ = (id) => document.getElementById(id);
const state = { files: [], view: VIEWS[0], program: null, worker: null, waiting: new Map(), kept: new Map(), warming: null, next: 0, shown: null, job: 0, turn: 0 };

// The bytes that an element holds in base64.
function held(id) {
  const text = atob($(id).textContent.trim());
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  $(id).remove();
  return bytes;
}

// The program, compiled once: it is in this page as gzip.
async function compiled() {
  const unpacked = new Blob([held("program")]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(unpacked).arrayBuffer());
}

const script = URL.createObjectURL(new Blob([$("worker").textContent], { type: "text/javascript" }));
const sample = new File([held("sample")], "sample.pcap.gz");

// Has a worker of its own read the sample: browsers compile for speed what has run for a while.
function warm(program) {
  const worker = state.warming = new Worker(script);
  worker.onmessage = ({ data }) => { if (data.kind === "failed" || data.id === 2) cool(); };
  worker.postMessage({ id: 0, kind: "start", program });
  worker.postMessage({ id: 1, kind: "open", files: named([sample]) });
  worker.postMessage({ id: 2, kind: "warm", args: [...VIEWS[0].args, "--", sample.name], output: OUTPUT });
}

function cool() {
  state.warming?.terminate();
  state.warming = null;
}

// While the captures are chosen. What it fails with is said when it is needed.
state.program = compiled();
state.program.then((program) => { if (state.files.length === 0) warm(program); }, () => {});

function ended(why) {
  state.worker?.terminate();
  state.worker = null;
  for (const { reject } of state.waiting.values()) reject(new Error(why));
  state.waiting.clear();
}

function heard({ data }) {
  if (data.kind === "progress") {
    $("stage").textContent = data.stage;
    if (data.total > 0) $("progress").value = data.done / data.total;
    else $("progress").removeAttribute("value");
    return;
  }
  if (data.kind === "failed") {
    ended(`gamewire stopped: ${data.why}. The page goes on; if a capture causes this again, please report it.`);
    return;
  }
  state.waiting.get(data.id)?.resolve(data);
  state.waiting.delete(data.id);
}

function ask(request) {
  const id = state.next++;
  return new Promise((resolve, reject) => {
    state.waiting.set(id, { resolve, reject });
    state.worker.postMessage({ ...request, id });
  });
}

// A worker that has the captures. After a cancelled command or a trap, it is a new one.
async function started() {
  if (state.worker) return;
  const program = await state.program;
  const worker = state.worker = new Worker(script);
  worker.onmessage = heard;
  worker.onerror = (event) => { event.preventDefault(); ended(`gamewire stopped: ${event.message}`); };
  await ask({ kind: "start", program });
  await ask({ kind: "open", files: state.files });
}

// Names are those of the files; of two with the same name, the second is numbered.
function named(files) {
  const taken = new Set();
  return files.map((file) => {
    let name = file.name, number = 2;
    while (taken.has(name)) name = `${number++}-${file.name}`;
    taken.add(name);
    return { name, file };
  });
}

function say(text) {
  $("message").textContent = text;
  $("message").hidden = text === "";
}

// What a command said beside its result.
function tell(text) {
  $("said").textContent = text;
  $("warnings").hidden = text === "";
}

// What the command wrote for people, without the program's name and the name that the page gave its output.
function without(said) {
  const isOfPage = (line) => line.includes(OUTPUT);
  return said.replace(/^gamewire: /gm, "").split("\n").filter((line) => !isOfPage(line)).join("\n").trim();
}

// What writes the view in the chosen format.
function chosen() {
  const { view } = state, format = $("format").value;
  if (view.output) return view;
  if (format === "csv") return view.tables.find(({ name }) => name === $("table").value);
  const isJson = format === "json";
  return {
    args: [...view.args, "--format", format],
    file: `gamewire-${view.args[0]}.${isJson ? "json" : "txt"}`,
    type: isJson ? "application/json" : "text/plain",
  };
}

function line({ args }) {
  const filter = $("filter").value.trim();
  const options = [
    ...(filter ? ["-Y", filter] : []),
    ...($("merge").checked && state.files.length > 1 ? ["--merge"] : []),
  ];
  return [...args, ...options, "--", ...state.files.map(({ name }) => name)];
}

async function result(command) {
  const args = line(command), key = args.join("\0"), { kept } = state;
  if (kept.has(key)) return kept.get(key);
  await started();
  const answer = await ask({ kind: "run", args, output: command.output });
  kept.set(key, answer);
  let bytes = 0;
  // From the latest to the first, which go when there is no room.
  for (const [of, { out }] of [...kept].reverse()) {
    bytes += out?.length ?? 0;
    if (bytes > KEPT) kept.delete(of);
  }
  return answer;
}

// Does something that takes time. Its progress and its end are shown unless a later job has begun.
async function busy(work) {
  const job = ++state.job;
  say("");
  $("working").hidden = false;
  $("stage").textContent = "Reading";
  $("progress").removeAttribute("value");
  try {
    await work();
  } catch (error) {
    if (job === state.job) say(error.message);
  }
  if (job === state.job) $("working").hidden = true;
  document.body.dataset.done = String(state.job);
}

// The formats of the view, and what the chosen one may be about.
function offer({ tables = [], output }) {
  const isReport = Boolean(output);
  $("as").hidden = isReport;
  $("format").querySelector("[value=csv]").disabled = tables.length === 0;
  if (isReport) {
    $("of").hidden = true;
    return;
  }
  if (tables.length === 0 && $("format").value === "csv") $("format").value = "text";
  $("of").hidden = $("format").value !== "csv" || tables.length < 2;
  const names = tables.map(({ name }) => name);
  if ([...$("table").options].map(({ value }) => value).join() === names.join()) return;
  $("table").replaceChildren(...names.map((name) => new Option(name)));
}

function show(isReport, out) {
  $("report").hidden = !isReport;
  $("output").hidden = isReport;
  if (isReport) {
    if (state.page) URL.revokeObjectURL(state.page);
    state.page = URL.createObjectURL(new Blob([out], { type: "text/html" }));
    $("report").src = state.page;
    return;
  }
  const text = new TextDecoder().decode(out.subarray(0, SHOWN));
  $("output").textContent = text;
  $("cut").textContent = `The first ${SHOWN / 1e6} MB of ${(out.length / 1e6).toFixed(1)} MB are shown; Save has all.`;
  $("cut").hidden = out.length <= SHOWN;
}

function update() {
  if (state.files.length === 0) return;
  for (const button of $("views").children) {
    button.setAttribute("aria-pressed", String(button.textContent === state.view.name));
  }
  offer(state.view);
  const command = chosen(), turn = ++state.turn;
  return busy(async () => {
    const { code, said, out } = await result(command);
    // Something else was chosen meanwhile.
    if (turn !== state.turn) return;
    const failed = out === null || code === 2 && out.length === 0;
    if (failed || code === 2) say(without(said));
    $("results").hidden = false;
    $("cut").hidden = true;
    tell(failed ? "" : without(said));
    state.shown = failed ? null : { command, out };
    $("save").disabled = failed;
    if (failed) $("report").hidden = $("output").hidden = true;
    else show(command.type === "text/html", out);
  });
}

function save({ file, type }, bytes) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([bytes], { type }));
  link.download = file;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

function open(files) {
  if (files.length === 0) return;
  const bytes = files.reduce((sum, file) => sum + file.size, 0);
  cool();
  ended("");
  state.files = [];
  state.kept = new Map();
  $("results").hidden = true;
  if (bytes > MOST) {
    state.job++;
    $("working").hidden = true;
    say(`These are ${Math.ceil(bytes / 1e6)} MB, and a page can read ${MOST / 1e6} MB: use the program, or cut the capture with editcap -c or gamewire dissect -w.`);
    return;
  }
  state.files = named(files);
  $("again").disabled = false;
  update();
}

for (const view of VIEWS) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = view.name;
  button.addEventListener("click", () => { state.view = view; update(); });
  $("views").append(button);
}
$("example").addEventListener("click", () => open([sample]));
$("files").addEventListener("change", () => open([...$("files").files]));
$("format").addEventListener("change", update);
$("table").addEventListener("change", update);
$("merge").addEventListener("change", update);
$("choice").addEventListener("submit", (event) => { event.preventDefault(); update(); });
$("cancel").addEventListener("click", () => {
  state.job++;
  ended("cancelled");
  $("working").hidden = true;
  say("Cancelled. Choose what to show to begin again.");
  $("results").hidden = state.files.length === 0;
});
$("save").addEventListener("click", () => save(state.shown.command, state.shown.out));

// Has a command write a file, and saves that.
function write(command, run) {
  return busy(async () => {
    const { said, out } = await run(command);
    tell(out === null ? "" : without(said));
    if (out === null) say(without(said));
    else save(command, out);
  });
}

$("packets").addEventListener("click", () => write(PACKETS, result));
$("scrub").addEventListener("click", () => {
  // In hexadecimal, which all browsers can be made to write.
  const key = Array.from(crypto.getRandomValues(new Uint8Array(32)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  const args = ["scrub", "--key", key, "-o", OUTPUT, "--", ...state.files.map(({ name }) => name)];
  write({ args, output: OUTPUT, file: "gamewire-scrubbed.pcapng", type: "application/octet-stream" }, async (command) => {
    await started();
    return ask({ kind: "run", ...command });
  });
});
for (const kind of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(kind, (event) => {
    event.preventDefault();
    $("drop").classList.toggle("over", kind === "dragover");
    if (kind === "drop") open([...event.dataTransfer.files]);
  });
}
})();
