"use strict";
// Runs gamewire's commands, compiled to WebAssembly. The page ends this worker to cancel a command, or after a trap.

// Bytes of a file that are copied at once, so that a large one is not in memory twice.
const CHUNK = 4 << 20;
// Milliseconds between reports of progress.
const INTERVAL = 100;
// Milliseconds for which a command runs to warm up.
const WARM = 1500;

let gamewire = null;
let reported = 0;

function progress(stage, done, total) {
  const now = Date.now();
  if (now - reported < INTERVAL) return;
  reported = now;
  postMessage({ kind: "progress", stage, done, total });
}

// Bytes of gamewire's memory, which may move with every call.
function memory(address, length) {
  return new Uint8Array(gamewire.memory.buffer, address, length);
}

function put(bytes) {
  const address = gamewire.gamewire_room(bytes.length);
  memory(address, bytes.length).set(bytes);
}

function putText(text) {
  put(new TextEncoder().encode(text));
}

function written(stream) {
  return memory(gamewire.gamewire_written(stream), gamewire.gamewire_written_length(stream)).slice();
}

async function open(files) {
  const total = files.reduce((sum, { file }) => sum + file.size, 0);
  let done = 0;
  for (const { name, file } of files) {
    putText(name);
    gamewire.gamewire_name();
    const address = gamewire.gamewire_room(file.size);
    for (let at = 0; at < file.size; at += CHUNK) {
      const bytes = new Uint8Array(await file.slice(at, at + CHUNK).arrayBuffer());
      memory(address + at, bytes.length).set(bytes);
      done += bytes.length;
      progress("Opening", done, total);
    }
    gamewire.gamewire_put();
  }
}

// Runs a command line. `output`: the name of the file that it writes, if its result is not on standard output.
function run(args, output) {
  putText(args.join("\0"));
  const code = gamewire.gamewire_run();
  const said = new TextDecoder().decode(written(1));
  if (output) {
    putText(output);
    if (!gamewire.gamewire_take()) return { code, said, out: null };
  }
  return { code, said, out: written(0) };
}

async function answer({ kind, program, files, args, output }) {
  if (kind === "start") {
    const env = { gamewire_reached: (done, total) => progress("Reading", done, total) };
    gamewire = (await WebAssembly.instantiate(program, { env })).exports;
    return {};
  }
  if (kind === "open") {
    await open(files);
    return {};
  }
  if (kind === "warm") {
    const end = Date.now() + WARM;
    while (Date.now() < end) run(args, output);
    return {};
  }
  return run(args, output);
}

// One request after the other.
let turn = Promise.resolve();
onmessage = ({ data }) => {
  turn = turn.then(() => answer(data)).then(
    (answered) => postMessage({ kind: "answer", id: data.id, ...answered }, answered.out ? [answered.out.buffer] : []),
    (error) => {
      let why = String(error);
      // A panic leaves its message before the trap.
      try { why = new TextDecoder().decode(written(1)) || why; } catch {}
      postMessage({ kind: "failed", id: data.id, why });
    });
};
