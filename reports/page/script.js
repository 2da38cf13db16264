// It unpacks what a large page packs: first what is asked for, then everything, so that the
// browser's search finds it. Otherwise the page reads as well without this script.
const slots = [...document.querySelectorAll(".packed")];
let parts = [];
const fill = (slot) => { if (slot.isConnected) slot.outerHTML = parts[slots.indexOf(slot)]; };

// A link to a run opens it, also where the filter hides it.
const follow = () => {
  const target = () => document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (slots.includes(target())) fill(target());
  const run = target()?.closest("details.run");
  if (!run) return;
  if (run.hidden) {
    const filter = document.getElementById("filter");
    filter.reset();
    filter.dispatchEvent(new Event("change"));
  }
  run.open = true;
  run.scrollIntoView();
};

const unpacked = (async () => {
  if (slots.length) {
    const {body} = await fetch("data:application/gzip;base64," + packed);
    parts = (await new Response(body.pipeThrough(new DecompressionStream("gzip"))).text()).split("\0");
  }
  addEventListener("hashchange", follow);
  addEventListener("beforeprint", () => slots.forEach(fill));
  follow();
  let rest = performance.now() + 20; // ms; then the reader's clicks have their turn
  for (const slot of slots) {
    fill(slot);
    if (performance.now() < rest) continue;
    await new Promise((next) => setTimeout(next));
    rest = performance.now() + 20;
  }
})();

// A filter, commands to copy, and moments in pictures.
unpacked.catch((why) => {
  for (const n of document.querySelectorAll("noscript")) n.outerHTML = n.textContent;
  console.error(why);
}).then(() => {
  const runs = [...document.querySelectorAll("details.run")];
  const articles = [...document.querySelectorAll("article")];
  const filter = document.getElementById("filter");
  const [lock, mark, property, count] = ["lock", "mark", "property", "count"].map((n) => filter.querySelector("[name=" + n + "]"));

  const options = (select, values) => {
    for (const v of [...new Set(values)].filter(Boolean)) select.append(new Option(v, v));
  };
  options(lock, runs.map((r) => r.dataset.lock));
  options(mark, runs.map((r) => r.dataset.mark));
  const violated = (r) => (r.dataset.violated ?? "").split(" ");
  options(property, runs.flatMap(violated));

  const apply = () => {
    let shown = 0;
    for (const r of runs) {
      const fits = (!lock.value || r.dataset.lock === lock.value) && (!mark.value || r.dataset.mark === mark.value) &&
        (!property.value || violated(r).includes(property.value));
      r.hidden = !fits;
      if (fits) shown++;
    }
    for (const a of articles) a.hidden = !a.querySelector("details.run:not([hidden])") && runs.length !== shown;
    count.textContent = shown + " of " + runs.length + " runs";
  };
  filter.addEventListener("change", apply);
  filter.addEventListener("reset", () => setTimeout(apply));
  filter.hidden = false;
  apply();

  // A cell of the matrix says what its run says.
  for (const a of document.querySelectorAll(".matrix td a")) {
    const run = document.getElementById(decodeURIComponent(a.hash.slice(1))).closest("details.run");
    if (run) a.title = run.dataset.lock + ": " + run.querySelector(".words").textContent;
  }

  // A command is copied by its button.
  for (const code of document.querySelectorAll("code.command")) {
    if (!navigator.clipboard) break;
    const b = document.createElement("button");
    b.type = "button";
    b.className = "copies";
    b.textContent = "copy";
    b.setAttribute("aria-label", "copy the command " + code.textContent);
    b.addEventListener("click", () => navigator.clipboard.writeText(code.textContent).then(() => { b.textContent = "copied"; }));
    code.after(" ", b);
  }

  // Pictures get a scrubber when they show.
  const prepare = (run) => { if (run.open) run.querySelectorAll("figure").forEach(scrub); };
  for (const r of runs) {
    prepare(r);
    r.addEventListener("toggle", () => prepare(r));
  }

  // j and k go to the next and the previous run that breaks something.
  addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || !"jk".includes(e.key) || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) return;
    const stops = runs.filter((r) => !r.hidden && r.dataset.violated);
    const here = stops.indexOf(document.activeElement && document.activeElement.closest("details.run"));
    const next = stops[e.key === "j" ? here + 1 : here - 1];
    if (!next) return;
    next.open = true;
    next.querySelector("summary").focus();
    next.scrollIntoView();
  });
});
