// The page reads as well without this: it adds a filter, opens what a link leads
// to, and a moment in a picture.
(() => {
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

  // A link to a run opens it, also where the filter hides it.
  const follow = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const run = target && target.closest("details.run");
    if (!run) return;
    if (run.hidden) { filter.reset(); apply(); }
    run.open = true;
    run.scrollIntoView();
  };
  addEventListener("hashchange", follow);
  follow();

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
})();
