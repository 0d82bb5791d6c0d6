-- KEYS: dead letters, the replay of their group, its counts. ARGV: group, then ids. Puts each entry as it was into the
-- replay and takes the dead letter away in the same step. Answers for each 1, 0 where it is gone, or -1 where it is
-- not kept as it was.
local dead, replay, states = KEYS[1], KEYS[2], KEYS[3]
local group, done = ARGV[1], {}
local ours = {}
for name in string.gmatch('stream group entry error message attempts abandonments first_at last_at', '%S+') do
  ours[name] = true
end
ready(replay, states, group)
for i = 2, #ARGV do
  local entry = redis.call('XRANGE', dead, ARGV[i], ARGV[i])[1]
  local fields = {}
  for j = 1, entry and #entry[2] or 0, 2 do
    local name, value = entry[2][j], entry[2][j + 1]
    if not ours[name] then
      local own = string.match(name, '^entry%.(.+)$')
      fields[#fields + 1] = own and ours[own] and own or name
      fields[#fields + 1] = value
    end
  end
  if not entry then
    done[#done + 1] = 0
  elseif #fields == 0 or fields[1] == 'entry.fields' then
    done[#done + 1] = -1
  else
    redis.call('XADD', replay, '*', unpack(fields))
    redis.call('XDEL', dead, ARGV[i])
    done[#done + 1] = 1
  end
end
return done
