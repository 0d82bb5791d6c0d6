-- ARGV: group, me, parked, then for each entry its id, the idle time it is parked with, the error.
-- Counts the failure; answers the ids that were parked. A server without memory refuses a script whose first change
-- needs some; XCLAIM needs none.
local parked, mine, done = ARGV[3], held(), {}
for i = 4, #ARGV, 3 do
  local id = ARGV[i]
  if mine[id] then
    local failures, abandonments, first = state(id)
    if first == 0 then first = now() end
    redis.call('XCLAIM', stream, group, parked, 0, id, 'IDLE', ARGV[i + 1], 'JUSTID')
    keep_state(id, failures + 1, abandonments, first, ARGV[i + 2])
    done[#done + 1] = id
  end
end
return done
