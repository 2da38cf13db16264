"use strict";
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
  options(property, runs.flatMap((r) => r.dataset.violated.split(" ")));

  const apply = () => {
    let shown = 0;
    for (const r of runs) {
      const fits = (!lock.value || r.dataset.lock === lock.value) && (!mark.value || r.dataset.mark === mark.value) &&
        (!property.value || r.dataset.violated.split(" ").includes(property.value));
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

  // The scrubber: a moment of a picture, and what every lane is in then. The
  // arrow keys move it, and so does the pointer.
  const seconds = (ns) => (ns / 1e9).toFixed(3) + " s";
  const scrub = (figure) => {
    const svg = figure.querySelector("svg.timeline");
    if (!svg || figure.querySelector("input.moment")) return;
    const from = Number(svg.dataset.from), to = Number(svg.dataset.to), left = 132, right = 1104;
    const bars = [...svg.querySelectorAll("rect")].filter((r) => r.querySelector("title")).map((r) => ({
      x: r.x.baseVal.value, w: Math.max(r.width.baseVal.value, 1), text: r.querySelector("title").textContent,
    }));
    const input = document.createElement("input");
    Object.assign(input, {type: "range", className: "moment", min: 0, max: 1000, value: 0});
    input.setAttribute("aria-label", "moment of the picture");
    const state = document.createElement("ul");
    state.className = "state";
    const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
    line.setAttribute("class", "now");
    svg.append(line);
    const show = () => {
      const x = left + (right - left) * input.value / 1000, at = from + (to - from) * input.value / 1000;
      line.setAttribute("d", "M" + x + " 0V" + svg.viewBox.baseVal.height);
      input.setAttribute("aria-valuetext", seconds(at));
      const items = bars.filter((b) => b.x <= x && x <= b.x + b.w).map((b) => b.text);
      state.replaceChildren(...[seconds(at) + ":", ...(items.length ? items : ["nobody holds or waits"])].map((text) => {
        const li = document.createElement("li");
        li.textContent = text;
        return li;
      }));
    };
    input.addEventListener("input", show);
    svg.addEventListener("click", (e) => {
      const box = svg.getBoundingClientRect(), x = (e.clientX - box.left) / box.width * svg.viewBox.baseVal.width;
      input.value = Math.round(1000 * (x - left) / (right - left));
      show();
    });
    figure.querySelector(".wide").after(input, state);
  };
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
