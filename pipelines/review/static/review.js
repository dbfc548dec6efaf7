// Keys for people who review all day. Everything works without this file, by forms and links.
"use strict";

const VERDICT_KEYS = "12345";

function writing(target) {
  return target.closest("input:not([type=radio]):not([type=checkbox]), textarea, select") !== null;
}

function follow(relation) {
  document.querySelector(`a[rel=${relation}]`)?.click();
}

function step(rows, by) {
  const at = rows.indexOf(document.activeElement);
  rows[Math.min(Math.max(at + by, 0), rows.length - 1)]?.focus();
}

function onList(key, rows) {
  if (key === "j") step(rows, 1);
  else if (key === "k") step(rows, -1);
  else if (key === "/") document.getElementById("search").focus();
  else return false;
  return true;
}

function onItem(key, form) {
  if (key === "j" || key === "n") follow("next");
  else if (key === "k" || key === "p") follow("prev");
  else if (key === "u") follow("up");
  else if (key === "r") document.getElementById("reason")?.focus();
  else if (key === "c") document.getElementById("scope")?.click();
  else if (form && VERDICT_KEYS.includes(key)) {
    const choice = form.elements.verdict[VERDICT_KEYS.indexOf(key)];
    choice.checked = true;
    choice.focus();
  } else return false;
  return true;
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.key.length !== 1 || writing(event.target)) return;
  const search = document.getElementById("search");
  const rows = [...document.querySelectorAll("a.row")];
  const item = document.querySelector("nav.steps");
  const done = search ? onList(event.key, rows) : item && onItem(event.key, document.querySelector(".verdict-form"));
  if (done) event.preventDefault();
});

// On a narrow screen the items come first.
function foldFilters() {
  const facets = document.querySelector("details.facets");
  if (facets && matchMedia("(max-width: 56rem)").matches) facets.open = false;
}

document.addEventListener("DOMContentLoaded", foldFilters);
document.addEventListener("htmx:afterSwap", foldFilters);
