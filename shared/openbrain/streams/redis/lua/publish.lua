-- KEYS: a stream for each event. ARGV: the field's name, the events, and an id for each or none at all.
-- Answers the refusal of each, or nothing.
local refusals = {}
for i, stream in ipairs(KEYS) do
  local answer = redis.pcall('XADD', stream, ARGV[#KEYS + i + 1] or '*', ARGV[1], ARGV[i + 1])
  refusals[i] = answer.err or false
end
return refusals
