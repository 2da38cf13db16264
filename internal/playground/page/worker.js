"use strict";
// The simulator, as WebAssembly. It says that it is ready, and then answers each
// request.
importScripts("wasm_exec.js");
(async () => {
  const answer = await fetch("holdfast.wasm.gz");
  if (!answer.ok) throw new Error("holdfast.wasm.gz: status " + answer.status);
  const go = new Go();
  go.env = {GOGC: "400"}; // a run is short, and collecting is slow
  // A server that knows of gzip has the browser unpack the file.
  const program = answer.headers.get("Content-Encoding") ? answer.body : answer.body.pipeThrough(new DecompressionStream("gzip"));
  const {instance} = await WebAssembly.instantiateStreaming(new Response(program, {headers: {"Content-Type": "application/wasm"}}), go.importObject);
  go.run(instance).then(() => setTimeout(() => { throw new Error("the simulator has ended"); }));
  onmessage = (e) => holdfastPlay(e.data, (text) => postMessage(text));
  postMessage("ready");
})().catch((e) => setTimeout(() => { throw e; }));
