"use strict";
// Draws what the planner wrote down: a walk along a plan, and how costs are split at each state.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { states, rows, columns, partitionings, steps } = data;
  const at = (id) => document.getElementById(id);
  const number = (x) => String(Math.round(x * 100) / 100);
  const plural = (n, one, many) => `${n} ${n === 1 ? one : many}`;
  // The optimal one, the last, is drawn without gaps.
  const dash = (i) => i === partitionings.length - 1 ? null : ["2 4", "8 4", "12 3 2 3", "5 3"][i % 4];
  const view = { state: 0, split: partitionings.length - 1 };

  // An element with attributes and children; `text` is one of them.
  const make = (tag, attributes = {}, ...children) => {
    const svg = ["svg", "g", "path", "line", "text", "circle", "rect"].includes(tag);
    const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
    }
    made.append(...children);
    return made;
  };
  const here = () => states[view.state];
  const split = () => here().splits[view.split];
  const operatorName = (column) => `${column.schema} ${column.args}`.trim();

  // What one wants to know first.
  const drawHead = () => {
    at("title").textContent = data.title;
    document.title = `How the costs of ${data.title} are split`;
    at("note").hidden = !data.note;
    at("note").textContent = data.note ?? "";
    const first = states[0];
    const best = first ? Math.max(...first.splits.filter(Boolean).map((s) => s.bound)) : null;
    const facts = [
      ["cheapest plan", data.cost ?? "unknown"],
      ["best bound at the start", best ?? "none"],
      ["no split gives more than", first && first.optimum[1] !== null ? number(first.optimum[1]) : "unknown"],
      ["components", rows.length + data.left_out.rows],
      ["steps of the plan", data.cost === null ? "–" : steps.length],
    ];
    at("facts").replaceChildren(...facts.map(([label, value]) =>
      make("div", {}, make("dt", {}, label), make("dd", {}, String(value)))));
    at("superfluous-list").replaceChildren(...data.superfluous.map((text) => make("li", {}, text)));
  };

  const drawLegend = () => {
    const entry = (partitioning, i) => {
      const line = make("path", { class: `curve c${i}`, d: "M2 8H34", "stroke-dasharray": dash(i) });
      const sample = make("svg", { class: "sample", viewBox: "0 0 36 16", "aria-hidden": "true" }, line);
      const button = make("button", { type: "button", "aria-pressed": String(i === view.split) }, sample, partitioning.name);
      button.addEventListener("click", () => choose(view.state, i));
      return make("li", {}, button);
    };
    at("legend").replaceChildren(...partitionings.map(entry));
    const chosen = partitionings[view.split];
    at("chosen").textContent = chosen ? `${chosen.name}: ${chosen.text}.` : "";
  };

  // Bounds over the steps of the plan, below the true cost.
  const drawChart = () => {
    const place = at("chart");
    if (states.length < 2) return place.replaceChildren();
    const width = Math.max(280, place.clientWidth), height = Math.min(320, Math.max(200, width * 0.45));
    const left = 44, right = 12, top = 12, bottom = 34;
    const last = states[states.length - 1].step;
    const most = Math.max(1, ...states.map((s) => s.true_cost));
    const x = (step) => left + (width - left - right) * step / last;
    const y = (cost) => height - bottom - (height - top - bottom) * cost / most;
    const points = (value, where = value) => states.filter((s) => where(s) !== null).map((s) => `${x(s.step).toFixed(1)} ${y(value(s)).toFixed(1)}`);
    const path = (value) => `M${points(value).join("L")}`;
    const valueOf = (i) => (s) => s.splits[i] ? s.splits[i].value : null;
    const truth = (s) => s.true_cost;
    const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": "Bounds along the plan, below the true cost" });
    const power = 10 ** Math.floor(Math.log10(most / 4));
    const tick = [1, 2, 5, 10].map((k) => k * power).find((width) => most / width <= 5);
    for (let cost = 0; cost <= most; cost += tick) {
      svg.append(make("line", { class: "guide", x1: left, x2: width - right, y1: y(cost), y2: y(cost) }),
        make("text", { x: left - 6, y: y(cost) + 4, "text-anchor": "end" }, number(cost)));
    }
    const every = Math.ceil(last / Math.max(2, Math.floor(width / 90)));
    for (let step = 0; step <= last; step += every) {
      svg.append(make("text", { x: x(step), y: height - bottom + 16, "text-anchor": "middle" }, String(step)));
    }
    svg.append(make("text", { x: width - right, y: height - 3, "text-anchor": "end" }, "steps of the plan"));
    const chosen = valueOf(view.split);
    svg.append(make("path", { class: "missing", d: `M${[...points(truth, chosen), ...points(chosen).reverse()].join("L")}Z` }));
    partitionings.forEach((_, i) => svg.append(make("path", {
      class: `curve c${i} ${i === view.split ? "on" : "faint"}`, d: path(valueOf(i)), "stroke-dasharray": dash(i),
    })));
    svg.append(make("path", { class: "truth", d: path(truth) }));
    const now = here();
    svg.append(make("line", { class: "here", x1: x(now.step), x2: x(now.step), y1: top, y2: height - bottom }));
    svg.append(make("circle", { class: "dot", fill: "var(--ink)", r: 5, cx: x(now.step), cy: y(now.true_cost) }));
    if (split()) svg.append(make("circle", { class: `dot c${view.split}`, fill: "currentColor", r: 5, cx: x(now.step), cy: y(split().value) }));
    const nearest = (event) => {
      const px = (event.clientX - svg.getBoundingClientRect().left) * width / svg.getBoundingClientRect().width;
      return states.reduce((best, s, i) => Math.abs(x(s.step) - px) < Math.abs(x(states[best].step) - px) ? i : best, 0);
    };
    svg.addEventListener("pointermove", (event) => {
      const s = states[nearest(event)], value = s.splits[view.split];
      showTip(`after ${plural(s.step, "step", "steps")}: true cost ${s.true_cost}` + (value ? `, ${partitionings[view.split].name} ${number(value.value)}` : ""), event.clientX, event.clientY);
    });
    svg.addEventListener("pointerleave", hideTip);
    svg.addEventListener("click", (event) => choose(nearest(event), view.split));
    place.replaceChildren(svg);
  };

  const sentence = () => {
    const s = here(), step = steps[s.step - 1];
    const parts = [step ? make("span", {}, `After step ${s.step} of ${steps.length}, `, make("code", {}, step.operator), `, which costs ${step.cost}. `) : "At the start. "];
    if (s.true_cost !== null) parts.push(`What is left costs ${s.true_cost}`, split() ? `; ${partitionings[view.split].name} sees ${number(split().value)} of it.` : ".");
    else if (split()) parts.push(`${partitionings[view.split].name} sees ${number(split().value)}.`);
    return parts;
  };

  const drawWalk = () => {
    const walks = states.length > 1;
    at("walk-text").textContent = walks
      ? "The strong line is what the rest of the plan costs, the true cost. The others are lower bounds; the shaded area is what the chosen one misses."
      : "There is one state to look at.";
    if (data.left_out.states) at("walk-text").textContent += ` ${plural(data.left_out.states, "state is", "states are")} left out.`;
    document.querySelector(".stepper").hidden = !walks;
    at("slider").max = states.length - 1;
    at("slider").value = view.state;
    at("slider").setAttribute("aria-valuetext", `after ${here().step} steps`);
    at("previous").disabled = view.state === 0;
    at("next").disabled = view.state === states.length - 1;
    at("where").replaceChildren(...sentence());
    const head = ["step", "operator", "cost", "true cost left", ...partitionings.map((p) => p.name)];
    const line = (s, i) => {
      const step = steps[s.step - 1];
      const values = s.splits.map((v) => make("td", {}, v ? number(v.value) : "–"));
      const row = make("tr", { class: i === view.state ? "here" : null }, make("th", { scope: "row" }, String(s.step)),
        make("td", { class: "name" }, make("code", {}, step ? step.operator : "")), make("td", {}, step ? String(step.cost) : ""), make("td", {}, String(s.true_cost ?? "–")), ...values);
      row.addEventListener("click", () => choose(i, view.split));
      return row;
    };
    at("steps").replaceChildren(make("thead", {}, make("tr", {}, ...head.map((name) => make("th", { scope: "col" }, name)))),
      make("tbody", {}, ...states.map(line)));
    at("truths").replaceChildren(...here().facts.map((fact, i) => make("li", { class: here().changed.includes(i) ? "new" : null }, fact)),
      ...(here().more_facts ? [make("li", {}, `and ${here().more_facts} more`)] : []));
  };

  // A bar of parts: [class, amount, tip].
  const bar = (parts, whole) => make("div", { class: "bar" }, ...parts.filter((part) => part[1] > 0).map(([name, amount, tip]) =>
    make("span", { class: name, tabindex: 0, "data-tip": tip, "aria-label": tip, style: `width:${100 * amount / Math.max(whole, 1e-9)}%` })));
  const row = (name, bars, figure) => make("div", { class: "row" }, make("div", { class: "name" }, name), bars, make("div", { class: "figure" }, figure));

  const drawBalance = () => {
    const s = here(), whole = s.true_cost ?? Math.max(1e-9, ...s.splits.filter(Boolean).map((v) => v.value));
    const known = s.true_cost !== null;
    at("balance").querySelector("h2").textContent = known ? "What becomes of the true cost" : "The bounds";
    at("balance-text").hidden = at("keys").hidden = !known;
    const keys = [["counted", "counted"], ["lost", "paid where there is a shortcut"], ["unused", "given to nobody"]];
    at("keys").replaceChildren(...keys.map(([name, text]) => make("li", {}, make("i", { class: name }), ` ${text}`)));
    at("bars").replaceChildren(...partitionings.map((partitioning, i) => {
      const v = s.splits[i];
      const button = make("button", { type: "button", "aria-pressed": String(i === view.split) }, partitioning.name);
      button.addEventListener("click", () => choose(view.state, i));
      if (!v) return row(button, make("div", { class: "bar" }), "–");
      const lost = v.lost.reduce((a, b) => a + b, v.other_lost);
      const parts = [["counted", v.value, `counted: ${number(v.value)}`], ["lost", known ? lost : 0, `paid to components that see a shortcut: ${number(lost)}`], ["unused", v.unused ?? 0, `given to nobody: ${number(v.unused ?? 0)}`]];
      return row(button, bar(parts, whole), known ? `${number(v.value)} of ${s.true_cost}` : number(v.value));
    }));
    const [lower, upper] = s.optimum;
    at("optimum").textContent = upper === null ? `The best split gives at least ${number(lower)}; how much more is not known.`
      : upper - lower <= 0.001 * upper + 0.005 ? `The best of all splits among these components gives ${number(upper)}${known && s.true_cost - upper > 0.005 ? `: ${number(s.true_cost - upper)} of the true cost cannot be seen by any split, only by other components` : ""}.`
      : `The best of all splits gives between ${number(lower)} and ${number(upper)}.`;
  };

  const drawCarriers = () => {
    const v = split();
    if (!v) return at("components").replaceChildren();
    const order = rows.map((_, i) => i).filter((i) => v.distances[i] > 0).sort((a, b) => v.distances[b] - v.distances[a]);
    const whole = Math.max(1e-9, ...order.map((i) => v.distances[i] + v.lost[i]));
    at("components").replaceChildren(...order.map((i) => row(rows[i].name,
      bar([["counted", v.distances[i], `${rows[i].name}: distance ${number(v.distances[i])}`], ["lost", v.lost[i], `the plan pays ${number(v.lost[i])} more`]], whole),
      `${number(v.distances[i])}${v.lost[i] >= 0.005 ? ` (+ ${number(v.lost[i])})` : ""}`)));
    const others = data.left_out.rows;
    at("other-components").textContent = (order.length ? "" : "No component that is shown carries anything here. ") +
      (others ? `${plural(others, "component", "components")} that carry little anywhere are not shown; here they have ${number(v.other_distances)} together.` : "");
  };

  const drawMatrix = () => {
    const v = split(), table = at("cells");
    if (!v) return table.replaceChildren();
    const left = new Set(steps.slice(here().step).map((step) => step.column));
    const groups = [];
    columns.forEach((column, j) => {
      if (j === 0 || columns[j - 1].schema !== column.schema) groups.push({ schema: column.schema, first: j, count: 0 });
      groups[groups.length - 1].count++;
    });
    const fits = (group) => group.schema.length * 0.5 < group.count * 1.45;
    const starts = new Set(groups.map((group) => group.first));
    const full = new Set(groups.filter((group) => !fits(group)).flatMap((group) => columns.map((_, j) => j).slice(group.first, group.first + group.count)));
    const schemas = groups.map((group) => make("th", { class: "schema first", colspan: group.count, scope: "colgroup", "data-tip": group.schema }, fits(group) ? group.schema : ""));
    const labels = columns.map((column, j) => make("th", { class: `operator ${starts.has(j) ? "first" : ""}`, scope: "col", "data-tip": `${operatorName(column)}: costs ${column.cost}` },
      make("span", {}, ...(left.has(j) ? [make("b", { class: "on-plan" }, "● ")] : []), full.has(j) ? operatorName(column) : column.args)));
    const amounts = rows.map(() => new Map());
    for (let k = 0; k < v.costs.length; k += 3) amounts[v.costs[k]].set(v.costs[k + 1], v.costs[k + 2]);
    const cell = (name, amount, j, ink) => {
      const { cost } = columns[j], share = cost > 0 ? amount / cost : 0;
      const tip = `${name} · ${operatorName(columns[j])}: ${number(amount)} of ${cost} (${Math.round(100 * share)} %)`;
      return make("td", { class: starts.has(j) ? "first" : null, role: "gridcell", tabindex: -1, "data-tip": tip, "aria-label": tip,
        style: share > 0 ? `background:color-mix(in srgb, var(${ink}) ${Math.round(12 + 88 * share)}%, var(--wash))` : null });
    };
    const body = [];
    rows.forEach((row, i) => {
      if (i === 0 || rows[i - 1].group !== row.group) body.push(make("tr", { class: "group" }, make("th", { scope: "rowgroup" }, row.group), make("th", { colspan: columns.length })));
      body.push(make("tr", {}, make("th", { scope: "row", "data-tip": `${row.name}: ${row.states} abstract states` }, row.name), ...columns.map((_, j) => cell(row.name, amounts[i].get(j) ?? 0, j, "--c0"))));
    });
    body.push(make("tr", { class: "nobody" }, make("th", { scope: "row" }, "given to nobody"), ...columns.map((column, j) => cell("given to nobody", Math.max(0, column.cost - v.given[j]), j, "--c6"))));
    table.replaceChildren(make("thead", {}, make("tr", {}, make("th"), ...schemas), make("tr", {}, make("th"), ...labels)), make("tbody", {}, ...body));
    table.querySelector("td")?.setAttribute("tabindex", 0);
    const out = data.left_out;
    const missing = [[out.rows, "component", "components"], [out.columns, "operator", "operators"], [out.states, "state of the plan", "states of the plan"]].filter(([n]) => n > 0);
    at("left-out").textContent = missing.length ? `Left out because they matter less, or for want of time: ${missing.map(([n, one, many]) => plural(n, one, many)).join(", ")}.` : "";
  };

  // Values on hover, on focus and by touch.
  const tip = at("tip");
  const hideTip = () => { tip.hidden = true; };
  const showTip = (text, x, y) => {
    tip.hidden = false;
    tip.textContent = text;
    tip.style.left = `${Math.max(8, Math.min(x + 12, window.innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${y + 16 + tip.offsetHeight > window.innerHeight ? y - tip.offsetHeight - 12 : y + 16}px`;
  };
  document.addEventListener("pointerover", (event) => {
    const marked = event.target.closest("[data-tip]");
    if (marked) showTip(marked.dataset.tip, event.clientX, event.clientY);
    else if (!event.target.closest("#chart")) hideTip();
  });
  document.addEventListener("focusin", (event) => {
    const marked = event.target.closest("[data-tip]");
    if (!marked) return hideTip();
    const box = marked.getBoundingClientRect();
    showTip(marked.dataset.tip, box.left, box.bottom - 8);
  });
  at("cells").addEventListener("keydown", (event) => {
    const from = event.target.closest("td");
    const [down, right] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key] ?? [0, 0];
    if (!from || !(down || right)) return;
    event.preventDefault();
    const lines = [...at("cells").querySelectorAll("tbody tr:not(.group)")];
    const line = lines[lines.indexOf(from.parentElement) + down];
    const to = line?.children[[...from.parentElement.children].indexOf(from) + right];
    if (to?.tagName !== "TD") return;
    from.setAttribute("tabindex", -1);
    to.setAttribute("tabindex", 0);
    to.focus();
  });

  const choose = (state, i) => {
    view.state = Math.max(0, Math.min(states.length - 1, state));
    view.split = i;
    [drawLegend, drawChart, drawWalk, drawBalance, drawCarriers, drawMatrix].forEach((draw) => draw());
  };
  at("previous").addEventListener("click", () => choose(view.state - 1, view.split));
  at("next").addEventListener("click", () => choose(view.state + 1, view.split));
  at("slider").addEventListener("input", () => choose(Number(at("slider").value), view.split));
  window.addEventListener("resize", () => states.length && drawChart());
  drawHead();
  if (states.length) choose(0, view.split);
  else at("walk").closest("main").hidden = true;
})();
