"use strict";

// Everything is put in as text: nothing of an answer is read as HTML.
document.getElementById("origin").textContent = location.origin;

async function showHealth() {
  const place = document.getElementById("health");
  try {
    const answer = await fetch("v1/health");
    const health = await answer.json();
    const down = Object.entries(health.parts).filter(([, state]) => state !== "ok").map(([part]) => part);
    const badge = document.createElement("strong");
    badge.className = `state ${health.status}`;
    badge.textContent = health.status;
    const told = down.length ? `down: ${down.join(", ")}` : Object.keys(health.parts).join(", ");
    place.replaceChildren(badge, ` version ${health.version} · ${told}`);
    if (health.writes) place.append(` · writes are refused: ${health.writes}`);
  } catch (error) {
    place.textContent = `/v1/health did not answer: ${error.message}`;
  }
}

showHealth();
