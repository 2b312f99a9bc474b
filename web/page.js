"use strict";
(() => {
// Bytes of captures that fit into the memory of a page, with what is decoded of them.
const MOST = 200e6;
// Characters of an output that are shown; all of them are saved.
const SHOWN = 2e6;
// The name of a file that a command writes, which no capture has.
const OUTPUT = "gamewire output";

const VIEWS = [
  { name: "Report", args: ["report", "-o", OUTPUT], output: OUTPUT, ends: "html", type: "text/html" },
  { name: "Diagnose", args: ["diagnose"] },
  { name: "Abuse", args: ["abuse"] },
  { name: "Check", args: ["check"] },
  { name: "Summary", args: ["summary"] },
  { name: "Flows", args: ["flows"] },
  { name: "Ladders", args: ["follow"] },
  { name: "Messages", args: ["dissect"] },
];

const $ = (id) => document.getElementById(id);
const state = { files: [], view: VIEWS[0], program: null, worker: null, waiting: new Map(), next: 0, shown: null, job: 0 };

// The program, compiled once: it is in this page as gzip in base64.
async function compiled() {
  const text = atob($("program").textContent.trim());
  const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
  $("program").remove();
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(unpacked).arrayBuffer());
}

const script = URL.createObjectURL(new Blob([$("worker").textContent], { type: "text/javascript" }));

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
  state.program ??= compiled();
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

// What the command wrote for people, without the program's name and the name that the page gave its output.
function without(said) {
  const isOfPage = (line) => line.includes(OUTPUT);
  return said.replace(/^gamewire: /gm, "").split("\n").filter((line) => !isOfPage(line)).join("\n").trim();
}

function line(view, format) {
  const filter = $("filter").value.trim();
  const options = [
    ...(view.output ? [] : ["--format", format]),
    ...(filter ? ["-Y", filter] : []),
    ...($("merge").checked && state.files.length > 1 ? ["--merge"] : []),
  ];
  return [...view.args, ...options, "--", ...state.files.map(({ name }) => name)];
}

async function result(view, format) {
  await started();
  return ask({ kind: "run", args: line(view, format), output: view.output });
}

// Does something that takes time; a later job makes this one's result unimportant.
async function busy(work) {
  const job = ++state.job;
  say("");
  $("working").hidden = false;
  $("stage").textContent = "Reading";
  $("progress").removeAttribute("value");
  try {
    await work(() => job === state.job);
  } catch (error) {
    if (job === state.job) say(error.message);
  }
  if (job === state.job) $("working").hidden = true;
  document.body.dataset.done = String(state.job);
}

function show(view, out) {
  const isReport = Boolean(view.output);
  $("report").hidden = !isReport;
  $("output").hidden = isReport;
  $("as").hidden = isReport;
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
  const { view } = state, format = $("format").value;
  return busy(async (isCurrent) => {
    const { code, said, out } = await result(view, format);
    if (!isCurrent()) return;
    const failed = out === null || code === 2 && out.length === 0;
    if (failed || code === 2) say(without(said));
    $("results").hidden = false;
    $("cut").hidden = true;
    $("said").textContent = without(said);
    $("warnings").hidden = failed || without(said) === "";
    state.shown = failed ? null : { view, format, out };
    $("save").disabled = failed;
    if (failed) $("report").hidden = $("output").hidden = true;
    else show(view, out);
  });
}

function save(bytes, name, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([bytes], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

function open(files) {
  if (files.length === 0) return;
  const bytes = files.reduce((sum, file) => sum + file.size, 0);
  ended("");
  state.files = [];
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
$("files").addEventListener("change", () => open([...$("files").files]));
$("format").addEventListener("change", update);
$("merge").addEventListener("change", update);
$("choice").addEventListener("submit", (event) => { event.preventDefault(); update(); });
$("cancel").addEventListener("click", () => {
  state.job++;
  ended("cancelled");
  $("working").hidden = true;
  say("Cancelled. Choose what to show to begin again.");
  $("results").hidden = state.files.length === 0;
});
$("save").addEventListener("click", () => {
  const { view, format, out } = state.shown;
  const ends = view.ends ?? (format === "json" ? "json" : "txt");
  save(out, `gamewire-${view.args[0]}.${ends}`, view.type ?? "text/plain");
});
$("scrub").addEventListener("click", () => busy(async () => {
  await started();
  const key = crypto.getRandomValues(new Uint8Array(32)).toHex?.() ?? crypto.randomUUID() + crypto.randomUUID();
  const args = ["scrub", "--key", key, "-o", OUTPUT, "--", ...state.files.map(({ name }) => name)];
  const { said, out } = await ask({ kind: "run", args, output: OUTPUT });
  if (out === null) say(without(said));
  else save(out, "gamewire-scrubbed.pcapng", "application/octet-stream");
}));
for (const kind of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(kind, (event) => {
    event.preventDefault();
    $("drop").classList.toggle("over", kind === "dragover");
    if (kind === "drop") open([...event.dataTransfer.files]);
  });
}
})();
