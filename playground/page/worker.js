"use strict";
// The simulator, as WebAssembly. It says that it is ready, and then answers each
// request.
importScripts("wasm_exec.js");
(async () => {
  const answer = await fetch("holdfast.wasm.gz");
  if (!answer.ok) throw new Error("holdfast.wasm.gz: status " + answer.status);
  let program = await answer.arrayBuffer();
  const head = new Uint8Array(program, 0, 2);
  if (head[0] === 0x1f && head[1] === 0x8b) // else the server has unpacked it
    program = await new Response(new Blob([program]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  const go = new Go();
  const {instance} = await WebAssembly.instantiate(program, go.importObject);
  go.run(instance).then(() => setTimeout(() => { throw new Error("the simulator has ended"); }));
  onmessage = (e) => holdfastPlay(e.data, (text) => postMessage(text));
  postMessage("ready");
})().catch((e) => setTimeout(() => { throw e; }));
