// The page asks play for an answer, over HTTP or from a worker that has the
// simulator, and shows the answer. It knows nothing of locks.
(() => {
  const $ = (id) => document.getElementById(id);
  const patience = 30000; // ms, for one answer; a run is given up earlier

  const overHTTP = () => {
    const visitor = crypto.randomUUID();
    return async (request) => {
      const answer = await fetch("play", {
        method: "POST", body: JSON.stringify(request), signal: AbortSignal.timeout(patience),
        headers: {"Content-Type": "application/json", "Playground-Visitor": visitor},
      });
      return answer.json();
    };
  };

  // A worker that does not answer in time is ended, and another one started.
  const inBrowser = () => {
    let worker = null;
    const start = () => new Promise((ready, failed) => {
      const w = new Worker("worker.js");
      w.onmessage = () => ready(w);
      w.onerror = (e) => failed(new Error(e.message || "the simulator cannot be loaded"));
    });
    return async (request) => {
      worker = worker || await start();
      return new Promise((answered, failed) => {
        const given = setTimeout(() => {
          worker.terminate();
          worker = null;
          answered({error: "the run took more than " + patience / 1000 + " s, and was given up", hint: "choose shorter times, or fewer clients"});
        }, patience);
        worker.onmessage = (e) => { clearTimeout(given); answered(JSON.parse(e.data)); };
        worker.onerror = (e) => { clearTimeout(given); worker.terminate(); worker = null; failed(new Error(e.message)); };
        worker.postMessage(JSON.stringify(request));
      });
    };
  };

  const play = document.documentElement.dataset.play === "wasm" ? inBrowser() : overHTTP();

  // What is chosen: in the controls, and in the address, so that a link shows it.
  const scenario = $("scenario"), lock = $("lock"), seed = $("seed");
  let set = {};
  let shown = ""; // the scenario whose parameters are there

  const has = (select, name) => [...select.options].some((o) => o.value === name && !o.disabled);
  const read = () => {
    const chosen = new URLSearchParams(location.hash.slice(1));
    scenario.value = has(scenario, chosen.get("scenario")) ? chosen.get("scenario") : "failover-lost-write";
    fit();
    lock.value = has(lock, chosen.get("lock")) ? chosen.get("lock") : usual();
    seed.value = /^\d{1,16}$/.test(chosen.get("seed") || "") ? chosen.get("seed") : "1";
    set = {};
    for (const [path, value] of chosen) if (path.includes(".")) set[path] = value;
    shown = "";
  };
  const write = () => {
    const chosen = new URLSearchParams({scenario: scenario.value, lock: lock.value, seed: seed.value, ...set});
    history.replaceState(null, "", "#" + chosen);
  };

  // fit offers the locks that the scenario is played with.
  const offered = () => scenario.selectedOptions[0].dataset.locks.split(" ");
  const usual = () => offered().includes("reentrant") ? "reentrant" : offered()[0];
  const fit = () => {
    for (const o of lock.options) o.disabled = !offered().includes(o.value);
    if (!offered().includes(lock.value)) lock.value = usual();
  };

  // slider is the control of one parameter.
  const slider = (p) => {
    const row = document.createElement("div"), label = document.createElement("label"), output = document.createElement("output"), input = document.createElement("input");
    row.className = "param";
    label.textContent = p.label;
    label.title = p.about || "";
    input.id = label.htmlFor = "p-" + p.path;
    output.htmlFor = input.id;
    output.dataset.was = "was " + p.value;
    const at = (value) => Math.max(0, p.stops.indexOf(value));
    Object.assign(input, {type: "range", min: 0, max: p.stops.length - 1, step: 1});
    input.value = at(set[p.path] === undefined ? p.value : set[p.path]);
    const show = () => {
      const value = p.stops[input.value];
      output.textContent = value;
      input.setAttribute("aria-valuetext", value);
      row.classList.toggle("set", value !== p.value);
    };
    input.addEventListener("input", () => {
      const value = p.stops[input.value];
      if (value === p.value) delete set[p.path]; else set[p.path] = value;
      show();
      choose();
    });
    show();
    row.append(label, output, input);
    return row;
  };

  const sliders = (params) => {
    const fill = (box, some) => {
      const rows = [];
      let of = "";
      for (const p of some) {
        if (p.of !== of) {
          const head = document.createElement("p");
          head.className = "of";
          head.textContent = of = p.of;
          rows.push(head);
        }
        rows.push(slider(p));
      }
      box.replaceChildren(...rows);
      return some.length;
    };
    const faults = (p) => p.path.startsWith("faults");
    const main = params.filter((p) => p.main);
    fill($("params"), [...main.filter(faults), ...main.filter((p) => !faults(p))]);
    $("others").hidden = !fill($("rest"), params.filter((p) => !p.main));
  };

  const show = (answer) => {
    $("error").hidden = !answer.error;
    $("picture").classList.toggle("old", Boolean(answer.error));
    $("again").classList.toggle("old", Boolean(answer.error));
    if (answer.error) {
      $("error").textContent = answer.error + (answer.hint ? "\n" + answer.hint : "");
      return;
    }
    if (shown !== answer.scenario) {
      sliders(answer.params);
      shown = answer.scenario;
    }
    $("run").hidden = false;
    $("run").classList.toggle("unargued", answer.changed);
    $("changed").hidden = !answer.changed;
    $("title").textContent = answer.title;
    $("story").textContent = answer.story;
    const scrubbed = $("picture").querySelector("input.moment"), moment = scrubbed && scrubbed.value;
    $("picture").innerHTML = answer.html; // escaped where it was made
    $("picture").querySelectorAll("figure").forEach(scrub);
    $("picture").querySelectorAll("h4").forEach((h) => h.setAttribute("aria-level", "3")); // they follow the title
    const moments = [...$("picture").querySelectorAll("input.moment")]; // one axis of time, so one moment
    const move = (value, but) => moments.filter((m) => m !== but && m.value !== value).forEach((m) => {
      m.value = value;
      m.dispatchEvent(new Event("input"));
    });
    for (const m of moments) m.addEventListener("input", () => move(m.value, m));
    if (moment > 0) move(moment);
    const beside = $("picture").querySelector(".beside h4 b");
    if (beside) {
      const link = document.createElement("a");
      link.textContent = answer.beside;
      link.href = "#" + new URLSearchParams({scenario: answer.scenario, lock: answer.beside, seed: answer.seed, ...(answer.changed ? set : {})});
      beside.replaceChildren(link);
    }
    $("command").textContent = answer.command;
    $("hash").textContent = answer.history_sha256;
    $("yaml").textContent = answer.yaml;
    $("where").hidden = !answer.changed;
    $("save").href = "data:application/yaml;charset=utf-8," + encodeURIComponent(answer.yaml);
    $("save").download = answer.file;
  };

  // One run at a time: what was chosen meanwhile is played next, and only the
  // last of it.
  let wanted = null, busy = false;
  const run = async () => {
    if (busy) return;
    busy = true;
    while (wanted) {
      const request = wanted, began = performance.now();
      wanted = null;
      $("status").className = "busy";
      try {
        const answer = await play(request);
        if (!wanted || answer.scenario === scenario.value) show(answer);
        $("status").textContent = answer.error ? "not played" : "played in " + Math.round(performance.now() - began) + " ms";
      } catch (e) {
        show({error: "no answer: " + e.message});
        $("status").textContent = "not played";
      }
    }
    $("status").className = "";
    busy = false;
  };
  const choose = () => {
    write();
    $("summary").textContent = lock.selectedOptions[0].dataset.about;
    $("reset").disabled = Object.keys(set).length === 0;
    const n = Number(seed.value);
    wanted = {scenario: scenario.value, lock: lock.value, seed: Number.isSafeInteger(n) && n >= 0 ? n : 1, set: {...set}};
    run();
  };

  scenario.addEventListener("change", () => { set = {}; shown = ""; fit(); choose(); });
  lock.addEventListener("change", choose);
  seed.addEventListener("input", choose);
  $("next").addEventListener("click", () => { seed.value = Number(seed.value) + 1; choose(); });
  $("reset").addEventListener("click", () => { set = {}; shown = ""; choose(); });
  $("controls").addEventListener("submit", (e) => e.preventDefault());
  addEventListener("hashchange", () => { read(); choose(); });
  for (const b of document.querySelectorAll("[data-copies]")) {
    b.addEventListener("click", async () => {
      await navigator.clipboard.writeText($(b.dataset.copies).textContent);
      b.textContent = "copied";
      setTimeout(() => { b.textContent = "copy"; }, 1500);
    });
  }
  read();
  choose();
})();
