"use strict";
// Names on hover, at once and also by touch; a legend entry that is clicked brings its series forward.
(() => {
  const tip = document.getElementById("tip");
  const nameOf = (mark) => {
    const title = mark.querySelector("title");
    if (title) {
      mark.setAttribute("aria-label", title.textContent);
      title.remove();
    }
    return mark.getAttribute("aria-label");
  };
  document.addEventListener("pointerover", (event) => {
    const mark = event.target.closest(".plot .mark, .plot .curve");
    tip.hidden = !mark;
    if (!mark) return;
    tip.textContent = nameOf(mark);
    const left = Math.min(event.clientX + 12, window.innerWidth - tip.offsetWidth - 8);
    const top = event.clientY + 16 + tip.offsetHeight > window.innerHeight ? event.clientY - tip.offsetHeight - 12 : event.clientY + 16;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${top}px`;
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest(".legend button");
    if (!button) return;
    const plots = button.closest(".plots");
    button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
    const pressed = [...plots.querySelectorAll("[aria-pressed=true]")].map((other) => `s${other.dataset.series}`);
    plots.classList.toggle("focused", pressed.length > 0);
    for (const mark of plots.querySelectorAll(".plot .mark, .plot .curve")) {
      mark.classList.toggle("on", pressed.some((series) => mark.classList.contains(series)));
    }
  });
})();
