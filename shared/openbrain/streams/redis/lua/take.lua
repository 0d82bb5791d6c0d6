-- ARGV: group, me, parked, ripe (ms), lease (ms), count, crashes after which an entry is handled alone, 1 to take one of those
-- where there is no other, the id from which on it looks.
-- Takes parked entries that are due and entries whose holder stopped renewing them, and counts an abandonment for the
-- latter. Answers {id, fields, failures, abandonments} of each.
local parked, ripe, lease = ARGV[3], ARGV[4], ARGV[5]
local count, alone_after, alone = tonumber(ARGV[6]), tonumber(ARGV[7]), ARGV[8] == '1'
local chosen, fewest = {}, nil

local function consider(id, abandoned)
  local failures, abandonments, first, error = state(id)
  if abandoned then abandonments = abandonments + 1 end
  local item = {id, failures, abandonments, first, error, abandoned}
  if abandonments >= alone_after then
    -- The one with the fewest crashes goes first: the others may have died beside a poison, not of it.
    if alone and (not fewest or abandonments < fewest[3]) then fewest = item end
  elseif #chosen < count then
    chosen[#chosen + 1] = item
  end
end

local function look(consumer, idle, abandoned)
  for _, entry in ipairs(redis.call('XPENDING', stream, group, 'IDLE', idle, ARGV[9], '+', count * 2, consumer)) do
    consider(entry[1], abandoned)
  end
end

look(parked, ripe, false)
for _, flat in ipairs(redis.call('XINFO', 'CONSUMERS', stream, group)) do
  local consumer = {}
  for i = 1, #flat, 2 do consumer[flat[i]] = flat[i + 1] end
  if consumer.pending > 0 and consumer.name ~= parked then look(consumer.name, lease, true) end
end
if #chosen == 0 then chosen = {fewest} end

local taken = {}
for _, item in ipairs(chosen) do
  local id, failures, abandonments, first, error, abandoned = unpack(item)
  local entry = redis.call('XCLAIM', stream, group, me, 0, id)[1]
  if entry then
    if abandoned then keep_state(id, failures, abandonments, first, error) end
    taken[#taken + 1] = {id, entry[2], failures, abandonments, abandoned and 1 or 0}
  else
    -- Trimmed meanwhile: the claim dropped it.
    redis.call('HDEL', states, id)
  end
end
return taken
